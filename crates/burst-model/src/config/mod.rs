//! The configuration of the filter: first as written (`raw.rs`), then checked. A configuration replaces the one before it
//! only if all of it is valid.

mod aliases;
mod degraded;
pub(crate) mod duration;
mod metrics_apis;
mod orca;
mod origin;
mod overflow;
mod part;
mod peers;
mod policies;
mod raw;
mod request_path;
mod requests;
mod retry_after;
mod sync;
mod validate;
mod value;

pub use degraded::DegradedConfig;
pub use orca::{OrcaConfig, OrcaFormat, OrcaUpstream, OrcaWhen};
pub use origin::Origin;
pub use overflow::{OverflowConfig, OverflowKey};
pub use part::Part;
pub use peers::{PeerConfig, PeersConfig};
pub use raw::{Authorization, ExtraKey, OnStale, Role, SyncMode, UnknownExternal, UpstreamHeader};
pub use request_path::RequestPath;
pub use requests::{HubConfig, RequestsConfig};
pub use retry_after::RetryAfterConfig;
pub use sync::{NoStreams, SyncConfig};

use crate::kube::Source;
use crate::load::Percent;
use crate::metric::ServedMetric;
use crate::name::Name;
use crate::printable::printable;
use crate::request_rates::CountingSettings;
use crate::signals::SignalSet;
use crate::upstream::Upstreams;
use part::Hashes;
use request_path::NEEDS_FULL_MODULE;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

/// The longest message, in characters. The message about an unknown key lists all keys that exist.
const MAX_MESSAGE: usize = 2_000;

/// Which of the two modules this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Artifact {
    /// The whole filter.
    Full,
    /// The module that sees responses only, and so can neither read nor answer requests.
    HeaderOnly,
}

/// A checked configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the snapshot comes from.
    pub origin: Origin,
    /// How the Kubernetes API or the hub is called.
    pub api: ApiConfig,
    /// Whether a thread of this proxy may become the leader.
    pub role: Role,
    /// Which objects are read, and how the loads are computed.
    pub content: Content,
    /// The lists of policy objects, which [`Self::metrics_part`] reads.
    pub policy_sources: Vec<Source>,
    /// How the lists are kept up to date.
    pub sync: SyncConfig,
    /// The time between two reads of the hub, or of a list that is not watched.
    pub poll_interval: Duration,
    /// The number of objects in a page of a list.
    pub page_size: u32,
    /// The age from which the snapshot is stale.
    pub max_staleness: Duration,
    /// What happens to the header when the snapshot is stale.
    pub on_stale: OnStale,
    /// How Envoy clusters map to Services.
    pub upstreams: Upstreams,
    /// The response header.
    pub header: HeaderConfig,
    /// The header `x-envoy-degraded`; `None` if it is disabled.
    pub degraded: Option<DegradedConfig>,
    /// The header `Retry-After`; `None` if it is disabled.
    pub retry_after: Option<RetryAfterConfig>,
    /// The load report on responses; `None` if it is disabled.
    pub orca: Option<OrcaConfig>,
    /// `/burstmetrics`; `None` if it is disabled.
    pub endpoints: Option<RequestPath<EndpointsConfig>>,
    /// The other clusters that are read; `None` if there are none.
    pub peers: Option<RequestPath<PeersConfig>>,
    /// The counting of requests; `None` if it is disabled.
    pub requests: Option<RequestPath<RequestsConfig>>,
    /// The custom and external metrics APIs; `None` if they are disabled.
    pub metrics_apis: Option<RequestPath<MetricsApisConfig>>,
    part: Part,
    hashes: Hashes,
    /// What overflows to another cluster; `None` if nothing does.
    pub overflow: Option<RequestPath<OverflowConfig>>,
}

/// How the Kubernetes API is called, or the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiConfig {
    /// The Envoy cluster.
    pub cluster: String,
    /// `:authority`.
    pub authority: String,
    /// The time limit for one page of a list, or one response of the hub.
    pub timeout: Duration,
}

/// All settings, besides those of the API, that change the snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Content {
    /// The lists to read. It is empty if the snapshot comes from a hub.
    pub sources: Vec<Source>,
    /// The target load as a percentage of the maximum.
    pub target: Percent,
    /// The signals that the header or the endpoints show, or that the filter acts on.
    pub signals: SignalSet,
}

/// The response header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderConfig {
    /// The name of the header, in lower case.
    pub name: String,
    /// A fixed value for every mapped Service; `None` for the live value.
    pub constant: Option<String>,
    /// The keys that follow `max-load`.
    pub extra_keys: Vec<ExtraKey>,
    /// The condition a request must meet to get the header; `None` if all requests get it.
    pub condition: Option<HeaderCondition>,
    /// What happens to a header of the same name from the upstream.
    pub upstream: UpstreamHeader,
}

/// A request header that a request must carry to get the burst header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderCondition {
    /// The name of the header, in lower case.
    pub name: String,
    /// The prefix of its value. An empty prefix allows any value.
    pub prefix: Vec<u8>,
}

/// Where the filter answers `/burstmetrics`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointsConfig {
    /// The path above the resources, without a trailing slash.
    pub prefix: String,
    /// The hosts for which the filter answers, in lower case and without a port. An empty list allows all.
    pub hosts: Vec<String>,
    /// The signals that `format=json` and `format=prometheus` show.
    pub extra_fields: SignalSet,
    /// Whether a browser gets the live page at the prefix itself.
    pub page: bool,
}

/// How the filter serves the metrics APIs.
#[derive(Clone, Debug)]
pub struct MetricsApisConfig {
    /// The name of the filter chain whose requests are all for the metrics APIs. Other chains do not serve them.
    pub filter_chain: String,
    /// Whether the filter trusts connections to a loopback address without mutual TLS.
    pub insecure_loopback_demo: bool,
    /// Labels that are added to every series.
    pub labels: BTreeMap<String, String>,
    /// The answer to a request for an unknown external metric.
    pub unknown_external: UnknownExternal,
    /// How a user's permission to read a metric is checked.
    pub authorization: Authorization,
    /// The adapters that serve the metrics this filter does not know.
    pub fallback: FallbackConfig,
    /// How requests are counted. With `None` they are not counted, and the metrics of requests do not exist.
    pub counting: Option<CountingSettings>,
    /// Which user may read which external metric; `None` if only the API server decides.
    pub policies: Option<PoliciesConfig>,
    /// Other names of custom metrics, sorted, each with the metric that it stands for.
    pub aliases: Vec<(String, ServedMetric)>,
}

/// Which user may read which external metric.
#[derive(Clone, Debug)]
pub struct PoliciesConfig {
    /// The decision on a request to which no policy applies.
    pub default: burst_policy::DefaultDecision,
    /// The policies in the configuration.
    pub given: Rc<[burst_policy::Policy]>,
    /// The namespace whose policy objects apply to all namespaces; `None` if policy objects are not read.
    pub root_namespace: Option<Name>,
}

/// The adapters behind this one, at most one for each API group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FallbackConfig {
    /// The adapter for `custom.metrics.k8s.io`.
    pub custom: Option<AdapterConfig>,
    /// The adapter for `external.metrics.k8s.io`.
    pub external: Option<AdapterConfig>,
}

/// Another metrics adapter. The filter reads its discovery documents; Envoy's route forwards requests to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AdapterConfig {
    /// The Envoy cluster.
    pub cluster: String,
    /// `:authority`.
    pub authority: String,
}

/// Why a configuration is refused. The message names the key, its value and what is allowed.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The text is not JSON, a key is unknown, or a value has the wrong type.
    #[error("{}", printable(.0, MAX_MESSAGE))]
    Parse(#[from] burst_kube::json::JsonError),
    /// A value that is not allowed.
    #[error("{key}: {reason}")]
    InvalidValue {
        /// The path of the key.
        key: String,
        /// The value, and what is wrong or what is allowed.
        reason: String,
    },
    /// `cluster`, the only key without a default, is missing.
    #[error("cluster: is missing; name the Envoy cluster of the Kubernetes API, or of the hub")]
    MissingCluster,
    /// A key needs to see requests, and this is the header-only module.
    #[error("{0}: {NEEDS_FULL_MODULE}")]
    NeedsFullModule(&'static str),
}

impl Config {
    /// Reads the configuration that Envoy passes on: JSON, from a `StringValue` or a `Struct`.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn parse(bytes: &[u8], artifact: Artifact) -> Result<Self, ConfigError> {
        // Envoy passes no bytes if there is no configuration. Read that as an object without a `cluster`.
        let json = if bytes.is_empty() { b"{}" } else { bytes };
        Self::validate(burst_kube::json::read_with_path(json)?, artifact)
    }

    /// Returns the namespace whose policies apply to all namespaces, if policy objects are read.
    #[must_use]
    pub fn root_namespace(&self) -> Option<&Name> {
        self.metrics_apis.as_deref()?.policies.as_ref()?.root_namespace.as_ref()
    }
}

impl FallbackConfig {
    /// Returns whether there is no other adapter.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.custom.is_none() && self.external.is_none()
    }
}

#[cfg(test)]
mod tests;
