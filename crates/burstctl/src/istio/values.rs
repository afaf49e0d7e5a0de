//! The values as the user writes them. `istio-values.schema.json` describes them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Values {
    #[serde(default)]
    pub(super) proxy: ProxyKind,
    #[serde(default)]
    pub(super) form: ExtensionKind,
    pub(super) name: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) labels: Option<BTreeMap<String, String>>,
    pub(super) service_account: Option<String>,
    pub(super) service: Option<String>,
    pub(super) module: ModuleValues,
    pub(super) namespaces: Option<Vec<String>>,
    /// In the format of the filter's own configuration, whose parser checks them.
    pub(super) workloads: Option<Vec<Value>>,
    pub(super) allowed_networks: Option<Vec<String>>,
    pub(super) cluster_domain: Option<String>,
    #[serde(default)]
    pub(super) config: Map<String, Value>,
}

/// The proxies that run the filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ProxyKind {
    #[default]
    Gateway,
    Sidecar,
}

/// The Istio kind that adds the filter to the proxies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ExtensionKind {
    #[default]
    WasmPlugin,
    TrafficExtension,
    EnvoyFilter,
}

/// An image with its digest, or a URL with the checksum of its file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModuleValues {
    pub(super) image: Option<String>,
    pub(super) digest: Option<String>,
    pub(super) url: Option<String>,
    pub(super) sha256: Option<String>,
}
