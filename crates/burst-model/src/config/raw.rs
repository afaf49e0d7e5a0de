//! The configuration as written: the keys of the JSON with their types. Their values are checked in `validate.rs` and the
//! files beside it. The table of docs/configuration.md lists the same keys, and a test compares the two.

use super::RequestPath;
use super::aliases::RawAliases;
use super::degraded::RawDegraded;
use super::orca::RawOrca;
use super::overflow::RawOverflow;
use super::retry_after::RawRetryAfter;
use burst_kube::{Signal, only_from_objects, only_from_strings};
use burst_policy::DefaultDecision;
use burst_policy::raw::RawInlinePolicy;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Default, Deserialize)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub(crate) struct RawConfig {
    pub(crate) cluster: Option<String>,
    pub(crate) authority: Option<String>,
    pub(crate) source: Option<RawSource>,
    pub(crate) hub_prefix: Option<String>,
    pub(crate) role: Option<Role>,
    pub(crate) sync: RawSync,
    pub(crate) poll_interval: Option<String>,
    pub(crate) request_timeout: Option<String>,
    pub(crate) page_size: Option<u32>,
    pub(crate) max_staleness: Option<String>,
    pub(crate) on_stale: Option<OnStale>,
    pub(crate) target_percent: Option<u32>,
    pub(crate) namespaces: Vec<String>,
    pub(crate) hpas: RawSelectors,
    pub(crate) services: RawSelectors,
    pub(crate) workloads: Option<Vec<RawWorkload>>,
    pub(crate) cluster_domain: Option<String>,
    pub(crate) clusters: Vec<RawCluster>,
    pub(crate) header: RawHeader,
    pub(crate) degraded: Option<RawDegraded>,
    pub(crate) retry_after: Option<RawRetryAfter>,
    pub(crate) orca: Option<RawOrca>,
    pub(crate) endpoints: RawEndpoints,
    pub(crate) peers: Option<RequestPath<RawPeers>>,
    pub(crate) requests: Option<RequestPath<RawRequests>>,
    pub(crate) metrics_apis: Option<RequestPath<RawMetricsApis>>,
    pub(crate) overflow: Option<RequestPath<RawOverflow>>,
}

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub(crate) struct RawSelectors {
    pub(crate) label_selector: Option<String>,
    pub(crate) field_selector: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct RawWorkload {
    #[serde(default)]
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) resource: String,
    pub(crate) kind: String,
    pub(crate) label_selector: Option<String>,
    pub(crate) field_selector: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct RawCluster {
    pub(crate) name: String,
    pub(crate) service: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub(crate) struct RawHeader {
    pub(crate) name: Option<String>,
    pub(crate) value: Option<String>,
    pub(crate) extra_keys: Vec<ExtraKey>,
    pub(crate) when: Option<RawWhen>,
    pub(crate) upstream: Option<UpstreamHeader>,
}

#[derive(Debug, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct RawWhen {
    pub(crate) request_header: String,
    pub(crate) prefix: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub(crate) struct RawEndpoints {
    pub(crate) enabled: Option<bool>,
    pub(crate) prefix: Option<String>,
    pub(crate) hosts: Vec<String>,
    pub(crate) extra_fields: Vec<Signal>,
    pub(crate) page: bool,
}

#[derive(Debug, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct RawPeers {
    #[serde(rename = "self")]
    pub(crate) own_name: String,
    pub(crate) read: Vec<RawPeer>,
}

#[derive(Debug, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct RawPeer {
    pub(crate) name: String,
    pub(crate) cluster: String,
    pub(crate) authority: Option<String>,
    pub(crate) prefix: Option<String>,
}

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub(crate) struct RawSync {
    pub(crate) mode: Option<SyncMode>,
    pub(crate) window: Option<String>,
    pub(crate) workload_window: Option<String>,
    pub(crate) max_windows: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub(crate) struct RawRequests {
    pub(crate) window: Option<String>,
    pub(crate) in_flight: Option<bool>,
    pub(crate) pods: Option<bool>,
    pub(crate) report_interval: Option<String>,
    pub(crate) hub: Option<RawHub>,
    pub(crate) accept: Option<RawAccept>,
}

#[derive(Debug, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct RawHub {
    pub(crate) cluster: String,
    pub(crate) authority: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct RawAccept {
    pub(crate) filter_chain: String,
}

#[derive(Debug, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct RawMetricsApis {
    pub(crate) filter_chain: String,
    pub(crate) insecure_loopback_demo: Option<bool>,
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) unknown_external: Option<UnknownExternal>,
    pub(crate) authorization: Option<Authorization>,
    #[serde(default)]
    pub(crate) fallback: RawFallback,
    pub(crate) policies: Option<RawPolicies>,
    #[serde(default)]
    pub(super) aliases: RawAliases,
}

#[derive(Debug, Default, Deserialize)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub(crate) struct RawFallback {
    pub(crate) custom: Option<RawAdapter>,
    pub(crate) external: Option<RawAdapter>,
}

#[derive(Debug, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct RawAdapter {
    pub(crate) cluster: String,
    pub(crate) authority: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub(crate) struct RawPolicies {
    pub(crate) default: Option<DefaultDecision>,
    pub(crate) root_namespace: Option<String>,
    pub(crate) given: Vec<RawInlinePolicy>,
}

only_from_objects!(
    RawConfig,
    RawSelectors,
    RawWorkload,
    RawCluster,
    RawHeader,
    RawWhen,
    RawEndpoints,
    RawPeers,
    RawPeer,
    RawSync,
    RawRequests,
    RawHub,
    RawAccept,
    RawMetricsApis,
    RawFallback,
    RawAdapter,
    RawPolicies,
);

/// Where the snapshot comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
pub(crate) enum RawSource {
    #[default]
    Kubernetes,
    Hub,
}

/// How the lists are kept up to date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
pub enum SyncMode {
    /// As `stream` where that is possible, and otherwise as `watch`.
    #[default]
    Auto,
    /// Each list is read in full once, and its changes arrive by a stream.
    Stream,
    /// Each list is read in full once, and its changes are watched in windows.
    Watch,
    /// Each list is read in full every `poll_interval`.
    List,
}

/// Whether one of a proxy's threads may become the leader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
pub enum Role {
    /// The threads elect a leader by the lease.
    #[default]
    Auto,
    /// No thread becomes the leader. A bootstrap singleton with the same `vm_id` leads.
    Reader,
}

/// What happens to the header when the snapshot is too old.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
pub enum OnStale {
    /// The filter sends no header.
    #[default]
    Drop,
    /// The header gets `stale=true`.
    Mark,
    /// The header stays as it is.
    Keep,
}

/// A key that the header carries after `max-load`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(remote = "Self", rename_all = "kebab-case")]
pub enum ExtraKey {
    /// `as-of`: when the cluster was last read, in Unix seconds.
    AsOf,
    /// `stale`: `true` or `false`.
    Stale,
    /// `headroom`: the replicas that can still be added.
    Headroom,
    /// `age`: the seconds since the cluster was last read, as of the last tick.
    Age,
    /// `ready`: the ready replicas.
    Ready,
    /// `demand`: the replicas that the HPA would want without its maximum.
    Demand,
    /// `state`: what the HPA can do.
    State,
}

impl ExtraKey {
    /// The signal that the key shows; `None` if it shows none.
    #[must_use]
    pub fn signal(self) -> Option<Signal> {
        match self {
            Self::AsOf | Self::Stale | Self::Headroom | Self::Age => None,
            Self::Ready => Some(Signal::Ready),
            Self::Demand => Some(Signal::Demand),
            Self::State => Some(Signal::State),
        }
    }
}

/// What happens to a header of the same name from the upstream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
pub enum UpstreamHeader {
    /// The filter replaces it, and removes it if there is no value for the service.
    #[default]
    Replace,
    /// The filter leaves it, and adds none.
    Keep,
}

/// The answer to a request for an unknown external metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
pub enum UnknownExternal {
    /// 404, which the HPA controller shows in the events of the HPA.
    #[default]
    NotFound,
    /// A list without items, as adapters answer that do not know which metrics exist.
    Empty,
}

/// How a user's permission to read a metric is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
pub enum Authorization {
    /// kube-apiserver checks it before it passes the request on, and the proxy relies on that.
    #[default]
    ApiServer,
    /// The proxy also creates a SubjectAccessReview.
    SubjectAccessReview,
}

only_from_strings!(
    RawSource,
    SyncMode,
    Role,
    OnStale,
    ExtraKey,
    UpstreamHeader,
    UnknownExternal,
    Authorization,
);
