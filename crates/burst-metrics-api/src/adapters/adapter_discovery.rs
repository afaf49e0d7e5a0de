//! Decides when to read what the other adapters list, and keeps what they answered.

use super::{AdapterDiscoveryError, AdapterResources, adapters, read_resource_list, resource_list_path};
use crate::aliases;
use crate::api_version::ApiVersion;
use burst_model::cluster_reader::HttpResponse;
use burst_model::config::MetricsApisConfig;
use burst_model::failure_state::StateChange;
use burst_model::records::Record;
use burst_model::time::Time;
use std::time::Duration;

/// As often as kube-apiserver checks an aggregated API.
const PERIOD: Duration = Duration::from_secs(30);

/// The pause after a failure. It keeps the promise that the metrics of a recovered adapter are listed within 10 s.
const RETRY: Duration = Duration::from_secs(8);

/// The user of the filter's own requests to an adapter, which trusts the proxy as kube-apiserver's front proxy. Any
/// authenticated user may discover APIs.
pub const DISCOVERY_USER: [(&str, &str); 2] = [
    ("x-remote-user", "system:burst-metrics"),
    ("x-remote-group", "system:authenticated"),
];

/// Reads the resource lists of the other adapters.
#[derive(Debug, Default)]
pub struct AdapterDiscovery {
    resources: AdapterResources,
    /// When the lists were requested last.
    requested: Option<Time>,
    under_way: usize,
    /// The aliases that the adapter has taken, as of its last list.
    taken_aliases: Vec<String>,
}

/// A GET to be sent to an adapter, as [`DISCOVERY_USER`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterRequest {
    /// The API version that it is about.
    pub api: ApiVersion,
    /// The Envoy cluster of the adapter.
    pub cluster: String,
    /// `:authority`.
    pub authority: String,
    /// The path.
    pub path: String,
}

/// What an adapter answered.
#[derive(Debug, PartialEq, Eq)]
pub struct AdapterAnswer<'a> {
    /// Whether it listed its resources.
    pub is_ok: bool,
    /// The [`AdapterResources`] to publish, if they have changed.
    pub record: Option<Vec<u8>>,
    /// Whether it begins or ceases to fail. A failure that the last leader has published is no change.
    pub change: Option<StateChange<'a, AdapterDiscoveryError>>,
    /// Aliases that are not served any more, because the adapter now has metrics of these names.
    pub taken_aliases: Vec<String>,
    /// Aliases that are served again.
    pub freed_aliases: Vec<String>,
}

impl AdapterDiscovery {
    /// Continues with what the last leader published.
    #[must_use]
    pub fn new(resources: AdapterResources, apis: &MetricsApisConfig) -> Self {
        Self {
            taken_aliases: taken_aliases(apis, &resources).unwrap_or_default(),
            resources,
            ..Self::default()
        }
    }

    /// Called once a tick. Returns the requests that are due. [`Self::on_response`] has to follow for each.
    pub fn tick(&mut self, apis: &MetricsApisConfig, now: Time) -> Vec<AdapterRequest> {
        let has_failed = adapters(apis).any(|(api, _)| self.resources.error(api).is_some());
        let period = if has_failed { RETRY } else { PERIOD };
        let is_due = self
            .requested
            .is_none_or(|requested| now >= requested.after(period) || now < requested);
        if !is_due || self.under_way > 0 {
            return Vec::new();
        }
        self.requested = Some(now);
        let requests: Vec<_> = adapters(apis)
            .map(|(api, adapter)| AdapterRequest {
                api,
                cluster: adapter.cluster.clone(),
                authority: adapter.authority.clone(),
                path: resource_list_path(api),
            })
            .collect();
        self.under_way = requests.len();
        requests
    }

    /// Handles the answer of an adapter, or why it could not be asked. `None` if `admits` refuses to parse its body.
    pub fn on_response(
        &mut self,
        apis: &MetricsApisConfig,
        api: ApiVersion,
        answer: Result<impl HttpResponse, String>,
        admits: impl FnOnce(&[u8]) -> bool,
    ) -> Option<AdapterAnswer<'_>> {
        self.under_way = self.under_way.saturating_sub(1);
        let listed = match answer {
            Ok(answer) => {
                let body = answer.body(usize::MAX);
                if !admits(&body) {
                    return None;
                }
                read_resource_list(answer.status(), &body)
            }
            Err(reason) => Err(AdapterDiscoveryError::NotSent(reason)),
        };
        let is_ok = listed.is_ok();
        let last_error = self.resources.error(api).cloned();
        let has_changed = self.resources.update(api, listed);
        let (taken, freed) = self.update_aliases(apis);
        let error = self.resources.error(api);
        Some(AdapterAnswer {
            is_ok,
            record: has_changed.then(|| self.resources.to_bytes()),
            change: (error != last_error.as_ref()).then(|| error.map_or(StateChange::Recovered, StateChange::Failed)),
            taken_aliases: taken,
            freed_aliases: freed,
        })
    }

    /// Returns the aliases that the adapter has taken since its last list, and those that it no longer has. While its
    /// metrics are not known, there are none of both.
    fn update_aliases(&mut self, apis: &MetricsApisConfig) -> (Vec<String>, Vec<String>) {
        let Some(taken) = taken_aliases(apis, &self.resources) else {
            return (Vec::new(), Vec::new());
        };
        let before = std::mem::replace(&mut self.taken_aliases, taken);
        let after = &self.taken_aliases;
        let missing = |all: &[String], other: &[String]| -> Vec<String> {
            all.iter().filter(|alias| !other.contains(alias)).cloned().collect()
        };
        (missing(after, &before), missing(&before, after))
    }
}

fn taken_aliases(apis: &MetricsApisConfig, resources: &AdapterResources) -> Option<Vec<String>> {
    let taken = aliases::taken(apis, resources)?;
    Some(taken.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::answer::Answer;
    use burst_model::config::{Artifact, Config};

    const LIST: Answer<'_> = Answer(
        200,
        r#"{"kind":"APIResourceList","resources":[{"name":"pods/a","singularName":"","namespaced":true,"kind":"MetricValueList","verbs":["get"]}]}"#,
    );
    const API: ApiVersion = ApiVersion::ExternalV1Beta1;

    fn config() -> Config {
        let json = r#"{"cluster":"kube_api","metrics_apis":{"filter_chain":"metrics",
            "fallback":{"external":{"cluster":"adapter"}}}}"#;
        Config::parse(json.as_bytes(), Artifact::Full).unwrap()
    }

    fn at(seconds: u64) -> Time {
        Time::from_unix_millis(seconds * 1000)
    }

    /// The clusters that are asked in a tick.
    fn tick(discovery: &mut AdapterDiscovery, seconds: u64) -> Vec<String> {
        let config = config();
        let requests = discovery.tick(config.metrics_apis.as_deref().unwrap(), at(seconds));
        requests.into_iter().map(|request| request.cluster).collect()
    }

    fn answer<'a>(discovery: &'a mut AdapterDiscovery, answer: Result<Answer<'_>, String>) -> AdapterAnswer<'a> {
        discovery
            .on_response(config().metrics_apis.as_deref().unwrap(), API, answer, |_| true)
            .unwrap()
    }

    #[test]
    fn an_adapter_is_asked_every_thirty_seconds_and_sooner_after_a_failure() {
        let mut discovery = AdapterDiscovery::default();
        assert_eq!(tick(&mut discovery, 100), ["adapter"]);
        assert_eq!(
            tick(&mut discovery, 200),
            Vec::<String>::new(),
            "one request is under way"
        );
        answer(&mut discovery, Ok(LIST));
        assert_eq!(tick(&mut discovery, 129), Vec::<String>::new());
        assert_eq!(tick(&mut discovery, 130), ["adapter"]);
        answer(&mut discovery, Ok(Answer(503, "")));
        assert_eq!(tick(&mut discovery, 137), Vec::<String>::new());
        assert_eq!(tick(&mut discovery, 138), ["adapter"]);
        answer(&mut discovery, Ok(LIST));
        assert_eq!(tick(&mut discovery, 20), ["adapter"], "the clock was set back");
    }

    #[test]
    fn only_news_are_published_and_logged() {
        let mut discovery = AdapterDiscovery::default();
        let failed = AdapterDiscoveryError::Status(503);
        let listed = answer(&mut discovery, Ok(LIST));
        assert!(listed.is_ok && listed.record.is_some() && listed.change.is_none());
        assert_eq!(answer(&mut discovery, Ok(LIST)).record, None);
        let first = answer(&mut discovery, Ok(Answer(503, "")));
        assert_eq!((first.is_ok, first.change), (false, Some(StateChange::Failed(&failed))));
        let published = AdapterResources::from_bytes(&first.record.unwrap()).unwrap();
        let mut successor = AdapterDiscovery::new(published, config().metrics_apis.as_deref().unwrap());
        let again = answer(&mut successor, Ok(Answer(503, "")));
        assert_eq!((again.record, again.change), (None, None), "the last leader logged it");
        let recovered = answer(&mut successor, Ok(LIST));
        assert_eq!(recovered.change, Some(StateChange::Recovered));
    }

    #[test]
    fn a_list_in_quarantine_changes_nothing() {
        let mut discovery = AdapterDiscovery::default();
        tick(&mut discovery, 100);
        assert_eq!(
            discovery.on_response(config().metrics_apis.as_deref().unwrap(), API, Ok(LIST), |_| false),
            None
        );
        assert_eq!(tick(&mut discovery, 130), ["adapter"], "it is asked again");
    }
}
