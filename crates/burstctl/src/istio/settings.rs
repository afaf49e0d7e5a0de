//! From the words to what a set needs to know, with every default.

use std::collections::BTreeMap;

use burst_model::config::Config;
use serde_json::{Map, Value};

use super::config;
use super::module::Module;
use super::validate::{InvalidValues, cluster_domain, label, name, namespace, networks};
use super::values::{ExtensionKind, ProxyKind, Values};

/// What every object of the shipped sets is called, or begins with.
pub(super) const NAME: &str = "burst-metrics";
/// What the pods of that gateway have, and Istio's own `istio/gateway` selects.
const GATEWAY_LABEL: (&str, &str) = ("istio", "ingressgateway");

/// What a set needs to know.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) proxy: ProxyKind,
    pub(super) form: ExtensionKind,
    /// Of every object, or what its name begins with.
    pub(super) name: String,
    /// Of the proxies.
    pub(super) namespace: String,
    /// Of the proxies' pods; `None` is what ships: Istio's own gateway, or every sidecar of the namespace.
    pub(super) labels: Option<BTreeMap<String, String>>,
    /// Of the proxies' pods; `None` is what ships.
    pub(super) service_account: Option<String>,
    pub(super) module: Module,
    /// Whether a Role in each namespace that is read takes the place of what ships.
    pub(super) by_namespace: bool,
    /// From which `/burstmetrics` may be asked; `None` is what ships.
    pub(super) allowed_networks: Option<Vec<String>>,
    pub(super) cluster_domain: String,
    /// `pluginConfig`, and what the filter makes of it.
    pub(super) plugin_config: Value,
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

    /// `{matchLabels: …}` or the like, where labels are given.
    pub(super) fn labels_in(&self, field: &str) -> Option<Value> {
        let labels = self.labels.as_ref()?.iter();
        let labels: Map<_, _> = labels
            .map(|(key, value)| (key.clone(), value.as_str().into()))
            .collect();
        Some(Map::from_iter([(field.to_owned(), labels.into())]).into())
    }
}

/// Whether these are the labels of the gateway that ships, whose ServiceAccounts are known.
fn is_shipped(labels: &BTreeMap<String, String>) -> bool {
    let (key, value) = GATEWAY_LABEL;
    labels.len() == 1 && labels.get(key).is_some_and(|given| given == value)
}
