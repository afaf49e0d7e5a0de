//! The checked values, with defaults filled in.

use std::collections::BTreeMap;

use burst_model::config::Config;
use serde_json::{Map, Value};

use super::config;
use super::module::Module;
use super::validate::{InvalidValues, cluster_domain, label, name, namespace, networks};
use super::values::{ExtensionKind, ProxyKind, Values};

/// The name of every object in the shipped manifests, or the prefix of its name.
pub(super) const NAME: &str = "burst-metrics";
/// The label of the shipped gateway's pods. Istio's own `istio/gateway` chart selects it as well.
const GATEWAY_LABEL: (&str, &str) = ("istio", "ingressgateway");

/// Everything that the manifests depend on.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) proxy: ProxyKind,
    pub(super) form: ExtensionKind,
    /// The name of every object, or the prefix of its name.
    pub(super) name: String,
    /// The namespace of the proxies.
    pub(super) namespace: String,
    /// The labels of the proxies' pods. `None` keeps the shipped selector: Istio's own gateway, or every sidecar of the
    /// namespace.
    pub(super) labels: Option<BTreeMap<String, String>>,
    /// The ServiceAccount of the proxies' pods. `None` keeps the shipped subjects.
    pub(super) service_account: Option<String>,
    pub(super) module: Module,
    /// Whether each namespace that the filter reads gets a Role, instead of one ClusterRole.
    pub(super) by_namespace: bool,
    /// The networks that may request `/burstmetrics`. `None` keeps the shipped ones.
    pub(super) allowed_networks: Option<Vec<String>>,
    pub(super) cluster_domain: String,
    /// `pluginConfig` as JSON.
    pub(super) plugin_config: Value,
    /// `pluginConfig` as the filter parses it.
    pub(super) config: Config,
}

impl Settings {
    pub(super) fn from_values(values: Values) -> Result<Self, InvalidValues> {
        let (plugin_config, config) = config::plugin_config(&values)?;
        let Values { proxy, form, .. } = values;
        let module = Module::check(values.module).map_err(|(key, error)| InvalidValues::Module { key, error })?;
        if proxy == ProxyKind::Gateway && values.labels.as_ref().is_some_and(BTreeMap::is_empty) {
            return Err(InvalidValues::NoLabels);
        }
        values.labels.iter().flatten().try_for_each(label)?;
        let is_custom = values.labels.as_ref().is_some_and(|labels| !is_shipped(labels));
        if proxy == ProxyKind::Gateway && is_custom && values.service_account.is_none() {
            return Err(InvalidValues::NoServiceAccount);
        }
        Ok(Self {
            proxy,
            form,
            name: name("name", values.name)?.unwrap_or_else(|| NAME.to_owned()),
            namespace: namespace(proxy, values.namespace)?,
            labels: values.labels.filter(|labels| !labels.is_empty()),
            service_account: name("serviceAccount", values.service_account)?,
            module,
            by_namespace: values.namespaces.is_some(),
            allowed_networks: networks(values.allowed_networks)?,
            cluster_domain: cluster_domain(values.cluster_domain)?,
            plugin_config,
            config,
        })
    }

    /// Returns the labels under `field`, as in `{matchLabels: …}`, or `None` if there are no labels.
    pub(super) fn labels_in(&self, field: &str) -> Option<Value> {
        let labels: Map<_, _> = self
            .labels
            .as_ref()?
            .iter()
            .map(|(key, value)| (key.clone(), value.as_str().into()))
            .collect();
        Some(Map::from_iter([(field.to_owned(), labels.into())]).into())
    }
}

/// Returns whether these are the labels of the shipped gateway, whose ServiceAccounts are known.
fn is_shipped(labels: &BTreeMap<String, String>) -> bool {
    let (key, value) = GATEWAY_LABEL;
    labels.len() == 1 && labels.get(key).is_some_and(|given| given == value)
}
