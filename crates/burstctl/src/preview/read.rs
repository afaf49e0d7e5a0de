//! One round of the filter's reflectors. The caller sends the requests.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use burst_model::config::Config;
use burst_model::kube::page::InvalidItem;
use burst_model::kube::{self, ApiResponse, Failure, ListPage, Source, Verb, response};
use burst_model::leader::{Effect, Handover, Leader};
use burst_model::records::{Checkpoint, Confirmed, Record as _};
use burst_model::sync::scheduler::ScheduledRequest;
use burst_model::time::Time;

/// The longest pause after a failure: nobody waits for a second try here.
const MAX_BACKOFF_JITTER: u32 = u32::MAX;

/// What the API answered to a GET.
#[derive(Clone, Debug)]
pub struct ApiAnswer {
    /// The status code.
    pub status: u16,
    /// `content-type`.
    pub content_type: Option<Vec<u8>>,
    /// The whole body.
    pub body: Vec<u8>,
}

/// What a round brought.
#[derive(Debug, Default)]
pub struct ClusterRead {
    /// The snapshot's bytes.
    pub snapshot: Vec<u8>,
    /// The objects behind it.
    pub resume: Checkpoint,
    /// When they were read.
    pub confirmed: Confirmed,
    /// What could not be read, each with its kind.
    pub bad: Vec<(String, InvalidItem)>,
    /// Kinds that the cluster does not know, as RBAC names them.
    pub absent: Vec<String>,
}

/// A list that could not be had.
#[derive(Debug, thiserror::Error)]
#[error("cannot list {list}: {failure}; {}", advice(.list, .failure))]
pub struct ListError {
    list: Source,
    failure: Failure,
}

/// Reads every list of a configuration, page by page.
///
/// # Errors
/// The lists that could not be had: a preview is of all that the proxy would read.
pub fn read(
    config: Rc<Config>,
    now: Time,
    mut get: impl FnMut(&str) -> Result<ApiAnswer, Failure>,
) -> Result<ClusterRead, Vec<ListError>> {
    let mut leader = Leader::new(config, Handover::default(), now);
    let mut effects = VecDeque::from(leader.tick(now));
    let (mut read, mut lists) = (ClusterRead::default(), BTreeMap::<usize, ListState>::new());
    loop {
        let Some(effect) = effects.pop_front() else {
            if !leader.is_busy() {
                break;
            }
            effects.extend(leader.advance(now));
            continue;
        };
        match effect {
            // A round is the lists; what would happen afterwards is not waited for.
            Effect::Request(ask) if ask.request.verb == Verb::Watch => {}
            Effect::Request(ScheduledRequest { source: id, request }) => {
                let Some(source) = leader.source(id).cloned() else {
                    continue;
                };
                let answer =
                    get(&request.path).and_then(|answer| response::parse_list(&source, answer.response(), &mut ()));
                lists
                    .entry(id.0)
                    .or_insert_with(|| ListState::new(source))
                    .record(&answer);
                effects.extend(leader.answer(id, answer.map(kube::Payload::Page), now, MAX_BACKOFF_JITTER));
            }
            Effect::PublishSnapshot(snapshot) => read.snapshot = snapshot,
            Effect::WriteCheckpoint(resume) => read.resume = Checkpoint::from_bytes(&resume).unwrap_or_default(),
            Effect::Confirm(confirmed) => read.confirmed = confirmed,
            // Who looks at a whole cluster is told in other words than a log has.
            Effect::RequestHub(_)
            | Effect::PublishPolicies(_)
            | Effect::RecordFailures(_)
            | Effect::SetGauges(_)
            | Effect::SetListGauge(..)
            | Effect::CountPoll(_)
            | Effect::LogWarning(_)
            | Effect::LogInfo(_) => {}
        }
    }
    let mut refused = Vec::new();
    for ListState { source, bad, failure } in lists.into_values() {
        let kind = &source.resource.kind;
        read.bad.extend(bad.into_iter().map(|bad| (kind.clone(), bad)));
        match failure {
            Some(Failure::NotFound(_)) if source.may_be_absent() => read.absent.push(source.resource.to_string()),
            Some(failure) => refused.push(ListError { list: source, failure }),
            None => {}
        }
    }
    if refused.is_empty() { Ok(read) } else { Err(refused) }
}

/// One list, as far as it was read.
struct ListState {
    source: Source,
    bad: Vec<InvalidItem>,
    /// Of the last page; a reflector relists by itself after a 410.
    failure: Option<Failure>,
}

impl ListState {
    fn new(source: Source) -> Self {
        Self {
            source,
            bad: Vec::new(),
            failure: None,
        }
    }

    fn record(&mut self, answer: &Result<ListPage, Failure>) {
        match answer {
            Ok(page) => self.bad.extend(page.invalid.iter().cloned()),
            Err(_) => self.bad.clear(),
        }
        self.failure = answer.as_ref().err().cloned();
    }
}

impl ApiAnswer {
    fn response(&self) -> ApiResponse<'_> {
        ApiResponse {
            status: Some(self.status),
            content_type: self.content_type.as_deref(),
            retry_after: None,
            body: &self.body,
        }
    }
}

/// What the person at the terminal can do: it is their account that asks, not the proxy's.
fn advice(list: &Source, failure: &Failure) -> String {
    match failure {
        Failure::Forbidden(_) => {
            let resource = &list.resource;
            let scope = match &list.namespace {
                Some(namespace) => format!("in namespace {namespace}"),
                None => "in every namespace, or --namespace has to name one".to_owned(),
            };
            format!("your user needs the verb list on {resource} {scope}")
        }
        Failure::Unauthorized(_) => "log in again: the cluster rejects the credentials of this context".into(),
        Failure::Unreachable(_) => "check the server of the context, and that this machine can reach it".into(),
        _ => failure.advice(list, Verb::List),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin_config;
    use serde_json::{Value, json};

    const NOW: Time = Time::from_unix_millis(1_700_000_000_000);

    fn config(words: &Value) -> Rc<Config> {
        Rc::new(plugin_config::parse(words).unwrap())
    }

    /// An empty list of whatever is asked for.
    fn empty(path: &str) -> ApiAnswer {
        let plural = path.split('?').next().and_then(|path| path.rsplit('/').next());
        let kind = match plural.unwrap() {
            "horizontalpodautoscalers" => "HorizontalPodAutoscaler",
            "services" => "Service",
            "statefulsets" => "StatefulSet",
            _ => "Deployment",
        };
        answer(
            200,
            &json!({"kind": format!("{kind}List"), "metadata": {}, "items": []}),
        )
    }

    fn answer(status: u16, body: &Value) -> ApiAnswer {
        ApiAnswer {
            status,
            content_type: Some(b"application/json".to_vec()),
            body: body.to_string().into_bytes(),
        }
    }

    #[test]
    fn each_list_is_asked_for_once_and_every_page_of_it() {
        let mut asked = Vec::new();
        let config = config(&json!({"cluster": "k", "page_size": 1}));
        let read = read(config, NOW, |path| {
            asked.push(path.to_owned());
            if path == "/api/v1/services?limit=1" {
                let item = json!({"metadata": {"name": "a", "namespace": "b"}, "spec": 7});
                let list = json!({"kind": "ServiceList", "metadata": {"continue": "next"}, "items": [item]});
                return Ok(answer(200, &list));
            }
            Ok(empty(path))
        })
        .unwrap();
        assert_eq!(asked.len(), 5, "{asked:?}");
        assert!(
            asked.contains(&"/api/v1/services?limit=1&continue=next".into()),
            "{asked:?}"
        );
        assert_eq!(read.confirmed.oldest(), Some(NOW));
        let bad: Vec<_> = read
            .bad
            .iter()
            .map(|(kind, bad)| (kind.as_str(), bad.name.as_str()))
            .collect();
        assert_eq!(bad, [("Service", "b/a")]);
    }

    #[test]
    fn a_list_that_expires_is_read_again_from_its_start_once() {
        for (expiries, well) in [(1, true), (2, false)] {
            let mut left = expiries;
            let result = read(config(&json!({"cluster": "k"})), NOW, |path| {
                if path.contains("services") && left > 0 {
                    left -= 1;
                    return Ok(answer(410, &json!({"message": "too old"})));
                }
                Ok(empty(path))
            });
            assert_eq!(result.is_ok(), well, "{result:?}");
        }
    }

    #[test]
    fn a_refusal_names_what_ones_own_user_lacks() {
        let refused = read(config(&json!({"cluster": "k", "namespaces": ["shop"]})), NOW, |path| {
            let forbidden = path.contains("deployments") || path.contains("services");
            Ok(if forbidden {
                answer(403, &json!({"message": "no"}))
            } else {
                empty(path)
            })
        })
        .unwrap_err();
        let refused: Vec<_> = refused.iter().map(ToString::to_string).collect();
        assert_eq!(
            refused,
            [
                "cannot list services in namespace shop: 403 Forbidden: no; your user needs the verb list on services in \
                 namespace shop",
                "cannot list deployments.apps in namespace shop: 403 Forbidden: no; your user needs the verb list on \
                 deployments.apps in namespace shop",
            ]
        );
    }

    #[test]
    fn lists_that_would_be_watched_are_read_once() {
        let mut asked = 0;
        let config = config(&json!({"cluster": "k", "sync": {"mode": "watch"}}));
        let read = read(config, NOW, |path| {
            asked += 1;
            Ok(empty(path))
        });
        let read = read.unwrap();
        assert_eq!((asked, read.confirmed.oldest()), (4, Some(NOW)));
        assert_eq!(read.resume.lists.len(), 4);
    }

    #[test]
    fn a_kind_without_a_definition_has_no_objects() {
        let rollouts =
            json!({"group": "argoproj.io", "version": "v1alpha1", "resource": "rollouts", "kind": "Rollout"});
        let read = read(config(&json!({"cluster": "k", "workloads": [rollouts]})), NOW, |path| {
            let absent = path.contains("rollouts");
            Ok(if absent {
                answer(404, &json!({"message": "404 page not found"}))
            } else {
                empty(path)
            })
        });
        assert_eq!(read.unwrap().absent, ["rollouts.argoproj.io"]);
    }
}
