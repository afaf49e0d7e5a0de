//! `requests`: how requests are counted, and to which hub they are reported.

use super::value::{text, time};
use super::{Artifact, ConfigError, raw};
use crate::request_rates::{CountingSettings, RateScope};
use std::time::Duration;

/// Two syncs of the HPA controller, so that it sees every request.
const WINDOW: Duration = Duration::from_secs(30);
/// The filter counts by ticks of a second, so a rate over a shorter window would be mostly noise.
const MIN_WINDOW: Duration = Duration::from_secs(10);
/// A count is at most three intervals old when the HPA controller reads it, which it does every 15 s.
const REPORT_INTERVAL: Duration = Duration::from_secs(3);
/// The tick of the filter is one second.
const MIN_REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// The delay that a tick, a callout and a busy thread can add to an interval.
const DELAY_ALLOWANCE: Duration = Duration::from_secs(3);
/// The name in the certificate of the hub: its Service in the manifests that we ship.
pub(super) const AUTHORITY: &str = "burst-hub";

/// How requests are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestsConfig {
    /// The time over which rates are computed.
    pub window: Duration,
    /// Whether requests in flight are counted.
    pub in_flight: bool,
    /// Whether requests are also counted by the address of the endpoint that answered, for the metrics of pods.
    pub pods: bool,
    /// The time between two reports of a VM to its proxy, and of a proxy to the hub.
    pub report_interval: Duration,
    /// The proxy that adds up the counts of all proxies, if there is one.
    pub hub: Option<HubConfig>,
    /// The name of the filter chain that accepts reports of other proxies, if this proxy is the hub.
    pub accept: Option<String>,
}

/// The hub that receives reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubConfig {
    /// The Envoy cluster.
    pub cluster: String,
    /// `:authority`.
    pub authority: String,
}

impl HubConfig {
    fn check(raw: &raw::RawHub) -> Result<Self, ConfigError> {
        Ok(Self {
            cluster: text("requests.hub.cluster", &raw.cluster)?,
            authority: text("requests.hub.authority", raw.authority.as_deref().unwrap_or(AUTHORITY))?,
        })
    }
}

impl RequestsConfig {
    pub(super) fn check(raw: raw::RawRequests, artifact: Artifact) -> Result<Self, ConfigError> {
        if artifact == Artifact::HeaderOnly {
            return Err(ConfigError::NeedsFullModule("requests"));
        }
        let report_interval = time(
            "requests.report_interval",
            raw.report_interval.as_deref(),
            REPORT_INTERVAL,
            MIN_REPORT_INTERVAL,
        )?;
        let least_window = MIN_WINDOW.max(report_interval.saturating_mul(2));
        let window = time("requests.window", raw.window.as_deref(), WINDOW, least_window)?;
        let hub = raw.hub.as_ref().map(HubConfig::check).transpose()?;
        let accept = raw
            .accept
            .map(|accept| text("requests.accept.filter_chain", &accept.filter_chain));
        Ok(Self {
            window,
            in_flight: raw.in_flight.unwrap_or(true),
            pods: raw.pods.unwrap_or_default(),
            report_interval,
            hub,
            accept: accept.transpose()?,
        })
    }

    /// Returns what is counted, and for which scope.
    #[must_use]
    pub fn counting(&self) -> CountingSettings {
        CountingSettings {
            scope: if self.accept.is_some() {
                RateScope::Cluster
            } else {
                RateScope::Proxy
            },
            in_flight: self.in_flight,
            pods: self.pods,
        }
    }

    /// Returns the age from which the count of a worker is ignored: the worker has missed two reports.
    #[must_use]
    pub fn worker_report_max_age(&self) -> Duration {
        self.report_interval.saturating_mul(2).saturating_add(DELAY_ALLOWANCE)
    }

    /// Returns the age from which the report of a proxy is ignored. Its counts can be two intervals old on arrival, and the
    /// proxy has missed two more reports.
    #[must_use]
    pub fn proxy_report_max_age(&self) -> Duration {
        self.report_interval.saturating_mul(4).saturating_add(DELAY_ALLOWANCE)
    }

    /// Returns the age from which the total is no longer served. Another thread may have to take over in between.
    #[must_use]
    pub fn total_max_age(&self) -> Duration {
        self.proxy_report_max_age().saturating_mul(2)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;
    use crate::kube::ObjectKind;

    fn parse(json: &str) -> Result<Config, ConfigError> {
        Config::parse(json.as_bytes(), Artifact::Full)
    }

    #[test]
    fn requests_are_counted_only_if_configured() {
        assert_eq!(parse(r#"{"cluster":"k"}"#).unwrap().requests, None);
        let requests = parse(r#"{"cluster":"k","requests":{}}"#)
            .unwrap()
            .requests
            .unwrap()
            .into_inner();
        assert_eq!((requests.window, requests.report_interval), (WINDOW, REPORT_INTERVAL));
        assert_eq!((requests.in_flight, requests.hub, requests.accept), (true, None, None));
        let hub = r#"{"cluster":"k","requests":{"hub":{"cluster":"hub"}}}"#;
        let hub = parse(hub).unwrap().requests.unwrap().into_inner().hub.unwrap();
        assert_eq!((hub.cluster.as_str(), hub.authority.as_str()), ("hub", "burst-hub"));
    }

    #[test]
    fn an_error_names_the_key_and_what_is_allowed() {
        for (requests, message) in [
            (
                r#"{"windw":"1s"}"#,
                "requests.windw: unknown field `windw`, expected one of `window`",
            ),
            (
                r#"{"window":"5s"}"#,
                "requests.window: 5s is below the least allowed, 10s",
            ),
            (
                r#"{"window":"30s","report_interval":"20s"}"#,
                "requests.window: 30s is below the least allowed, 40s",
            ),
            (
                r#"{"report_interval":"100ms"}"#,
                "requests.report_interval: 100ms is below the least allowed, 1s",
            ),
            (r#"{"pods":true}"#, "requests.pods: has no effect without metrics_apis"),
            (r#"{"hub":{}}"#, "requests.hub: missing field `cluster`"),
            (
                r#"{"hub":{"cluster":""}}"#,
                r#"requests.hub.cluster: "" must be a text"#,
            ),
            (
                r#"{"accept":{"filter_chain":""}}"#,
                r#"requests.accept.filter_chain: "" must be a text"#,
            ),
        ] {
            let error = parse(&format!(r#"{{"cluster":"k","requests":{requests}}}"#))
                .unwrap_err()
                .to_string();
            assert!(error.contains(message), "{requests}: {error}");
        }
        let header_only = Config::parse(br#"{"cluster":"k","requests":{}}"#, Artifact::HeaderOnly);
        assert!(
            header_only
                .unwrap_err()
                .to_string()
                .starts_with("requests: is not supported")
        );
    }

    #[test]
    fn reports_and_the_metrics_apis_have_filter_chains_of_their_own() {
        let config = |chain: &str| {
            let requests = format!(r#""requests":{{"accept":{{"filter_chain":"{chain}"}}}}"#);
            parse(&format!(
                r#"{{"cluster":"k","metrics_apis":{{"filter_chain":"apis"}},{requests}}}"#
            ))
        };
        let metrics_apis = config("hub").unwrap().metrics_apis.unwrap();
        let counting = CountingSettings {
            scope: RateScope::Cluster,
            in_flight: true,
            pods: false,
        };
        assert_eq!(metrics_apis.counting, Some(counting));
        let error = config("apis").unwrap_err().to_string();
        assert!(
            error.starts_with(r#"requests.accept.filter_chain: "apis" is the filter chain of metrics_apis"#),
            "{error}"
        );
    }

    #[test]
    fn pods_are_read_only_where_their_metrics_are_served() {
        let sources = |more: &str| {
            let config = parse(&format!(r#"{{"cluster":"k","namespaces":["b","a"]{more}}}"#)).unwrap();
            let sources = config.content.sources.iter();
            let pods = sources.filter(|source| matches!(source.kind, ObjectKind::EndpointSlices | ObjectKind::Pods));
            pods.map(ToString::to_string).collect::<Vec<_>>()
        };
        let apis = r#","metrics_apis":{"filter_chain":"m"}"#;
        assert_eq!(sources(&format!(r#"{apis},"requests":{{"pods":false}}"#)), [""; 0]);
        assert_eq!(sources(r#","requests":{"pods":true,"hub":{"cluster":"hub"}}"#), [""; 0]);
        assert_eq!(
            sources(&format!(r#"{apis},"requests":{{"pods":true}}"#)),
            [
                "endpointslices.discovery.k8s.io in namespace a",
                "endpointslices.discovery.k8s.io in namespace b",
                "pods in namespace a",
                "pods in namespace b",
            ]
        );
    }

    #[test]
    fn the_hash_changes_with_every_setting_that_changes_counts() {
        let hash = |json: &str| parse(json).unwrap().metrics_hash();
        let plain = hash(r#"{"cluster":"k","requests":{}}"#);
        for same in [
            r#"{"cluster":"k","requests":{"report_interval":"5s","hub":{"cluster":"hub"}}}"#,
            r#"{"cluster":"k","requests":{},"header":{"name":"x-load"}}"#,
        ] {
            assert_eq!(hash(same), plain, "{same}");
        }
        for other in [
            r#"{"cluster":"l","requests":{}}"#,
            r#"{"cluster":"k","requests":{"window":"60s"}}"#,
            r#"{"cluster":"k","requests":{"in_flight":false}}"#,
            r#"{"cluster":"k","requests":{"pods":true,"hub":{"cluster":"hub"}}}"#,
            r#"{"cluster":"k","requests":{"accept":{"filter_chain":"hub"}}}"#,
            r#"{"cluster":"k","requests":{},"cluster_domain":"example.org"}"#,
            r#"{"cluster":"k","requests":{},"clusters":[{"name":"{service}.{namespace}"}]}"#,
        ] {
            assert_ne!(hash(other), plain, "{other}");
        }
    }
}
