//! The configuration: first the words as they are written, then the things, checked. A configuration is whole before
//! it replaces the one before it.

pub(crate) mod duration;
mod metrics_apis;
mod origin;
mod policies;
mod raw;
mod request_path;
mod requests;
mod sync;
mod validate;

pub use origin::Origin;
pub use raw::{Authorization, ExtraKey, OnStale, Role, SyncMode, UnknownExternal, UpstreamHeader};
pub use request_path::RequestPath;
pub use requests::{HubConfig, RequestsConfig};
pub use sync::SyncConfig;

use crate::hash;
use crate::kube::Source;
use crate::load::Percent;
use crate::name::Name;
use crate::printable::printable;
use crate::rates::Counting;
use crate::upstream::Upstreams;
use request_path::NEEDS_FULL_MODULE;
use std::collections::BTreeMap;
use std::time::Duration;

/// Enough for the keys that there are, which stand in the words about one that is not.
const MAX_MESSAGE: usize = 2_000;

/// Which of the two modules this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Artifact {
    /// The whole filter.
    Full,
    /// The one that sees responses only, and so can neither answer requests nor look at them.
    HeaderOnly,
}

/// A checked configuration.
#[derive(Debug)]
pub struct Config {
    /// Whom the picture is from.
    pub origin: Origin,
    /// Where that is.
    pub api: ApiConfig,
    /// Whether this proxy polls.
    pub role: Role,
    /// What is read, and how it is counted.
    pub content: Content,
    /// How it is kept up to date.
    pub sync: SyncConfig,
    /// The time between two reads of a list that is not watched, or of a hub.
    pub poll_interval: Duration,
    /// Objects asked for in one page.
    pub page_size: u32,
    /// The age at which the picture is too old.
    pub max_staleness: Duration,
    /// What becomes of the header then.
    pub on_stale: OnStale,
    /// From Envoy's clusters to Services.
    pub upstreams: Upstreams,
    /// The response header.
    pub header: HeaderConfig,
    /// `/burstmetrics`, unless it is off.
    pub endpoints: Option<RequestPath<EndpointsConfig>>,
    /// Counting of requests, unless it is off.
    pub requests: Option<RequestPath<RequestsConfig>>,
    /// The custom and external metrics APIs, unless they are off.
    pub metrics_apis: Option<RequestPath<MetricsApisConfig>>,
}

/// How the Kubernetes API is called, or the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiConfig {
    /// The Envoy cluster.
    pub cluster: String,
    /// `:authority`.
    pub authority: String,
    /// For one page, or one answer of a hub.
    pub timeout: Duration,
}

/// Everything that changes the bytes in shared data, besides the API itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Content {
    /// The lists that are kept; none where a hub is read.
    pub sources: Vec<Source>,
    /// The target load in percent of the maximum.
    pub target: Percent,
}

/// The response header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderConfig {
    /// Its name, in lower case.
    pub name: String,
    /// What it says for every mapped Service; `None` for the live value.
    pub constant: Option<String>,
    /// Keys after `max-load`.
    pub extra_keys: Vec<ExtraKey>,
    /// Which requests get it; `None` for all.
    pub condition: Option<HeaderCondition>,
    /// What becomes of the upstream's.
    pub upstream: UpstreamHeader,
}

/// A request header that a request must carry to get the burst header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderCondition {
    /// Its name, in lower case.
    pub name: String,
    /// What its value begins with; empty for any value.
    pub prefix: Vec<u8>,
}

/// Where `/burstmetrics` is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointsConfig {
    /// The path above the kinds, without a slash at its end.
    pub prefix: String,
    /// The hosts it is answered for, in lower case and without a port; empty for all.
    pub hosts: Vec<String>,
}

/// How the metrics APIs are answered.
#[derive(Debug)]
pub struct MetricsApisConfig {
    /// The filter chain whose every request is for them; no other chain answers.
    pub filter_chain: String,
    /// Whether a connection to a loopback address is believed without mutual TLS.
    pub insecure_loopback_demo: bool,
    /// Labels that every series has besides its own.
    pub labels: BTreeMap<String, String>,
    /// The answer for an external metric that there is none of.
    pub unknown_external: UnknownExternal,
    /// Who decides whether a user may read a metric.
    pub authorization: Authorization,
    /// Whose the metrics are that have no name of ours.
    pub fallback: FallbackConfig,
    /// What is counted of requests; `None` where nothing is, and no metric of it is named.
    pub counting: Option<Counting>,
    /// Who may read which external metric; `None` where the API server alone says that.
    pub policies: Option<PoliciesConfig>,
}

/// Who may read which external metric.
#[derive(Debug)]
pub struct PoliciesConfig {
    /// What becomes of a query that none is for.
    pub default: burst_policy::DefaultDecision,
    /// Those of the configuration.
    pub given: Vec<burst_policy::Policy>,
    /// Where the objects are that are for every namespace; `None` where objects are not read.
    pub root_namespace: Option<Name>,
}

/// The adapters behind this one, of each group at most one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FallbackConfig {
    /// Of `custom.metrics.k8s.io`.
    pub custom: Option<AdapterConfig>,
    /// Of `external.metrics.k8s.io`.
    pub external: Option<AdapterConfig>,
}

/// Another adapter, which is asked what it has; requests for it go by Envoy's route.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AdapterConfig {
    /// The Envoy cluster.
    pub cluster: String,
    /// `:authority`.
    pub authority: String,
}

/// Why a configuration is refused: the key, its value and what is allowed.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Not JSON, an unknown key, which may be any text, or a value of the wrong type.
    #[error("{}", printable(.0, MAX_MESSAGE))]
    Parse(#[from] burst_kube::json::JsonError),
    /// A value that is not allowed.
    #[error("{key}: {reason}")]
    InvalidValue {
        /// The key, as a path.
        key: String,
        /// The value, and what is wrong with it or would be right.
        reason: String,
    },
    /// The one key without a default.
    #[error("cluster: is missing; name the Envoy cluster of the Kubernetes API, or of the hub")]
    MissingCluster,
    /// A key that needs the request, in the module that does not see it.
    #[error("{0}: {NEEDS_FULL_MODULE}")]
    NeedsFullModule(&'static str),
}

impl Config {
    /// Takes the bytes that Envoy hands over: JSON, from a `StringValue` or a `Struct`.
    ///
    /// # Errors
    /// The first thing that is wrong, named.
    pub fn parse(bytes: &[u8], artifact: Artifact) -> Result<Self, ConfigError> {
        // Envoy gives no bytes where nothing is configured; that is an empty object, which lacks its cluster.
        let json = if bytes.is_empty() { b"{}" } else { bytes };
        Self::check(burst_kube::json::read_with_path(json)?, artifact)
    }

    /// The namespace whose policies are for all of them, where policies are read.
    #[must_use]
    pub fn root_namespace(&self) -> Option<&Name> {
        self.metrics_apis.as_deref()?.policies.as_ref()?.root_namespace.as_ref()
    }

    /// The hash of every setting that changes what is in shared data.
    #[must_use]
    pub fn settings_hash(&self) -> u64 {
        let fallback = self.metrics_apis.as_deref().map(|apis| &apis.fallback);
        let fallback = fallback.filter(|fallback| **fallback != FallbackConfig::default());
        hash::of(&(
            &self.api.cluster,
            &self.api.authority,
            &self.origin,
            &self.content,
            fallback,
        ))
    }

    /// The hash of every setting that changes what is read.
    #[must_use]
    pub fn lists_hash(&self) -> u64 {
        hash::of(&(&self.api.cluster, &self.api.authority, &self.content.sources))
    }
}

#[cfg(test)]
mod tests;
