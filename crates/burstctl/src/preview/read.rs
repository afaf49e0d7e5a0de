//! Lists the resources once with the filter's reflectors. The caller sends the requests.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use burst_model::config::Config;
use burst_model::kube::item::InvalidItem;
use burst_model::kube::{self, ApiResponse, Failure, ListPage, Source, Verb, response};
use burst_model::leader::{Effect, Handover, Leader};
use burst_model::records::{Checkpoint, Confirmed, Record as _};
use burst_model::sync::scheduler::ScheduledRequest;
use burst_model::time::Time;

/// The longest backoff after a failure, so that no retry is due before the preview ends.
const MAX_BACKOFF_JITTER: u32 = u32::MAX;

/// The API server's response to a GET.
#[derive(Clone, Debug)]
pub struct ApiAnswer {
    /// The HTTP status code.
    pub status: u16,
    /// The `content-type` header.
    pub content_type: Option<Vec<u8>>,
    /// The whole body.
    pub body: Vec<u8>,
}

/// The result of listing every resource once.
#[derive(Debug, Default)]
pub struct ClusterRead {
    /// The encoded snapshot.
    pub snapshot: Vec<u8>,
    /// The objects that the snapshot was computed from.
    pub resume: Checkpoint,
    /// When each list was read.
    pub confirmed: Confirmed,
    /// Objects that could not be decoded, each with its kind.
    pub bad: Vec<(String, InvalidItem)>,
    /// Resources that the cluster does not serve, in the notation of RBAC.
    pub absent: Vec<String>,
}

/// A list request that failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot list {list}: {failure}; {}", advice(.list, .failure))]
pub struct ListError {
    list: Source,
    failure: Failure,
}

/// Reads every list of a configuration, page by page, through `get`.
///
/// # Errors
/// Returns every list that failed. A preview needs all the lists that the filter would read.
pub fn read(
    config: Rc<Config>,
    now: Time,
    mut get: impl FnMut(&str) -> Result<ApiAnswer, Failure>,
) -> Result<ClusterRead, Vec<ListError>> {
    let mut leader = Leader::new(config, Handover::default(), now).without_streams();
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
            // The initial lists are enough. Ignore the watches that would follow.
            Effect::Request(scheduled) if scheduled.request.verb == Verb::Watch => {}
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
            // The filter would log these. The preview has messages of its own.
            Effect::RequestHub(_)
            | Effect::PublishPolicies(_)
            | Effect::RecordFailures(_)
            | Effect::SetGauges(_)
            | Effect::SetListGauge(..)
            | Effect::CountPoll(_)
            | Effect::CloseStream(_)
            | Effect::LogError(_)
            | Effect::LogWarning(_)
            | Effect::LogInfo(_) => {}
        }
    }
    add_list_results(read, lists.into_values())
}

/// Adds the invalid objects and the absent resources, or returns the lists that failed.
fn add_list_results(
    mut read: ClusterRead,
    lists: impl Iterator<Item = ListState>,
) -> Result<ClusterRead, Vec<ListError>> {
    let mut failed = Vec::new();
    for ListState { source, bad, failure } in lists {
        let kind = &source.resource.kind;
        read.bad.extend(bad.into_iter().map(|bad| (kind.clone(), bad)));
        match failure {
            Some(Failure::NotFound(_)) if source.may_be_absent() => read.absent.push(source.resource.to_string()),
            Some(failure) => failed.push(ListError { list: source, failure }),
            None => {}
        }
    }
    if failed.is_empty() { Ok(read) } else { Err(failed) }
}

/// One list, and the results of its pages so far.
struct ListState {
    source: Source,
    bad: Vec<InvalidItem>,
    /// The failure of the last page. A page may succeed after a failure, because a reflector relists after a 410.
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

/// Returns advice for the user of the command, whose own credentials send the requests.
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

    fn config(json: &Value) -> Rc<Config> {
        Rc::new(plugin_config::parse(json).unwrap())
    }

    /// An empty list of the requested resource.
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
    fn a_preview_reads_no_pods() {
        let json = json!({"cluster": "k", "requests": {"pods": true}, "metrics_apis": {"filter_chain": "m"}});
        let mut config = plugin_config::parse(&json).unwrap();
        assert_eq!(config.content.sources.len(), 6);
        crate::preview::exclude_pods(&mut config.content);
        let mut requested = Vec::new();
        read(Rc::new(config), NOW, |path| {
            requested.push(path.to_owned());
            Ok(empty(path))
        })
        .unwrap();
        assert_eq!(requested.len(), 4, "{requested:?}");
    }

    #[test]
    fn each_list_is_requested_once_with_all_its_pages() {
        let mut requested = Vec::new();
        let config = config(&json!({"cluster": "k", "page_size": 1}));
        let read = read(config, NOW, |path| {
            requested.push(path.to_owned());
            if path == "/api/v1/services?limit=1" {
                let item = json!({"metadata": {"name": "a", "namespace": "b"}, "spec": 7});
                let list = json!({"kind": "ServiceList", "metadata": {"continue": "next"}, "items": [item]});
                return Ok(answer(200, &list));
            }
            Ok(empty(path))
        })
        .unwrap();
        assert_eq!(requested.len(), 5, "{requested:?}");
        assert!(
            requested.contains(&"/api/v1/services?limit=1&continue=next".into()),
            "{requested:?}"
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
    fn an_expired_list_is_restarted_once() {
        for (expiries, succeeds) in [(1, true), (2, false)] {
            let mut remaining = expiries;
            let result = read(config(&json!({"cluster": "k"})), NOW, |path| {
                if path.contains("services") && remaining > 0 {
                    remaining -= 1;
                    return Ok(answer(410, &json!({"message": "too old"})));
                }
                Ok(empty(path))
            });
            assert_eq!(result.is_ok(), succeeds, "{result:?}");
        }
    }

    #[test]
    fn a_forbidden_list_names_the_rights_that_the_user_needs() {
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
    fn in_watch_mode_each_list_is_read_once() {
        let mut requested = 0;
        let config = config(&json!({"cluster": "k", "sync": {"mode": "watch"}}));
        let read = read(config, NOW, |path| {
            requested += 1;
            Ok(empty(path))
        });
        let read = read.unwrap();
        assert_eq!((requested, read.confirmed.oldest()), (4, Some(NOW)));
        assert_eq!(read.resume.lists.len(), 4);
    }

    #[test]
    fn a_resource_that_the_cluster_does_not_serve_is_absent() {
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
