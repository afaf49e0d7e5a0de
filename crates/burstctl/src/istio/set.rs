//! From the words to what a set needs to know, with every default.

use std::collections::BTreeMap;
use std::net::IpAddr;

use burst_labels::content;
use burst_model::config::{Config, ConfigError};
use burst_model::name::{InvalidName, Name};
use serde_json::{Map, Value};

use super::config;
use super::module::{BadModule, Module};
use super::template::Changed;
use super::words::{Form, Proxy, Values};

/// What every object of the shipped sets is called, or begins with.
pub(super) const NAME: &str = "burst-metrics";
/// Where Istio's own ingress gateway is.
const NAMESPACE: &str = "istio-system";
/// What the pods of that gateway have, and Istio's own `istio/gateway` selects.
const GATEWAY_LABEL: (&str, &str) = ("istio", "ingressgateway");
/// What every distribution of Kubernetes sets unless it is told otherwise.
pub(super) const CLUSTER_DOMAIN: &str = "cluster.local";

/// What a set needs to know.
#[derive(Debug)]
pub(super) struct Set {
    pub(super) proxy: Proxy,
    pub(super) form: Form,
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

/// Why there is no set of these values.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadValues {
    #[error("{error}")]
    Name { key: &'static str, error: InvalidName },
    #[error("{error}")]
    Module { key: &'static str, error: BadModule },
    #[error("is missing; there is no usual namespace for sidecars")]
    NoNamespace,
    #[error(
        "name it: pods with these labels need not run as {}, and the role is for their ServiceAccount alone",
        config::SERVICE
    )]
    NoServiceAccount,
    #[error("is empty, which is every proxy of the namespace; say what the gateway's pods have")]
    NoLabels,
    #[error("{reason}")]
    NotALabel { key: String, reason: String },
    #[error("{word:?} is no namespace: {reason}")]
    NotANamespace { word: String, reason: String },
    #[error("is empty; left out, it is {0}")]
    NoNamespaces(&'static str),
    #[error("{word:?} is no network: an address, or the first one and how many bits count, as 10.0.0.0/8")]
    NotANetwork { place: usize, word: String },
    #[error("is empty, which is nobody; left out, it is every private network")]
    NoNetworks,
    #[error("belongs to a gateway; a sidecar's paths are its pod's own")]
    ServiceOfSidecar,
    #[error("is not to be set here: {1}")]
    NotHere(String, &'static str),
    #[error("{error}")]
    Config { key: String, error: ConfigError },
    #[error("{0}")]
    Changed(#[from] Changed),
}

impl BadValues {
    /// Which of the values it is about; empty for all of them.
    pub(super) fn key(&self) -> String {
        match self {
            Self::Name { key, .. } => (*key).to_owned(),
            Self::Module { key: "", .. } => "module".to_owned(),
            Self::Module { key, .. } => format!("module.{key}"),
            Self::NoNamespace | Self::NotANamespace { .. } => "namespace".to_owned(),
            Self::NotALabel { key, .. } => format!("labels.{key}"),
            Self::NoLabels => "labels".to_owned(),
            Self::NoServiceAccount => "serviceAccount".to_owned(),
            Self::NotANetwork { place, .. } => format!("allowedNetworks[{place}]"),
            Self::NoNetworks => "allowedNetworks".to_owned(),
            Self::NoNamespaces(_) => "namespaces".to_owned(),
            Self::ServiceOfSidecar => "service".to_owned(),
            Self::NotHere(key, _) => format!("config.{key}"),
            Self::Config { key, .. } => key.clone(),
            Self::Changed(_) => String::new(),
        }
    }
}

impl Set {
    pub(super) fn check(words: Values) -> Result<Self, BadValues> {
        let (plugin_config, config) = config::check(&words)?;
        let Values { proxy, form, .. } = words;
        let module = Module::check(words.module).map_err(|(key, error)| BadValues::Module { key, error })?;
        if proxy == Proxy::Gateway && words.labels.as_ref().is_some_and(BTreeMap::is_empty) {
            return Err(BadValues::NoLabels);
        }
        words.labels.iter().flatten().try_for_each(label)?;
        let is_own = words.labels.as_ref().is_some_and(|labels| !is_shipped(labels));
        if proxy == Proxy::Gateway && is_own && words.service_account.is_none() {
            return Err(BadValues::NoServiceAccount);
        }
        Ok(Self {
            proxy,
            form,
            name: name("name", words.name)?.unwrap_or_else(|| NAME.to_owned()),
            namespace: namespace(proxy, words.namespace)?,
            labels: words.labels.filter(|labels| !labels.is_empty()),
            service_account: name("serviceAccount", words.service_account)?,
            module,
            by_namespace: words.namespaces.is_some(),
            allowed_networks: networks(words.allowed_networks)?,
            cluster_domain: cluster_domain(words.cluster_domain)?,
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

/// That a pod can have a label.
fn label((key, value): (&String, &String)) -> Result<(), BadValues> {
    let wrong = |what: &str, reasons: Vec<String>| {
        let first = reasons.into_iter().next()?;
        Some(format!("{what} is no label's: {first}"))
    };
    let reason = wrong(&format!("the key {key:?}"), content::label_key(key))
        .or_else(|| wrong(&format!("{value:?}"), content::label_value(value)));
    reason.map_or(Ok(()), |reason| {
        Err(BadValues::NotALabel {
            key: key.clone(),
            reason,
        })
    })
}

/// The namespace of the proxies.
pub(super) fn namespace(proxy: Proxy, word: Option<String>) -> Result<String, BadValues> {
    match (word, proxy) {
        (Some(word), _) => match content::dns_label(&word).into_iter().next() {
            None => Ok(word),
            Some(reason) => Err(BadValues::NotANamespace { word, reason }),
        },
        (None, Proxy::Gateway) => Ok(NAMESPACE.to_owned()),
        (None, Proxy::Sidecar) => Err(BadValues::NoNamespace),
    }
}

/// Networks as Istio reads them, if they are given.
fn networks(words: Option<Vec<String>>) -> Result<Option<Vec<String>>, BadValues> {
    let Some(words) = words else { return Ok(None) };
    if words.is_empty() {
        return Err(BadValues::NoNetworks);
    }
    match words.iter().position(|word| !is_network(word)) {
        Some(place) => Err(BadValues::NotANetwork {
            place,
            word: words.get(place).cloned().unwrap_or_default(),
        }),
        None => Ok(Some(words)),
    }
}

fn is_network(word: &str) -> bool {
    let (address, bits) = word.split_once('/').unwrap_or((word, "0"));
    let Ok(address) = address.parse::<IpAddr>() else {
        return false;
    };
    let most = if address.is_ipv4() { 32 } else { 128 };
    let is_number = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
    is_number && bits.parse::<u8>().is_ok_and(|bits| bits <= most)
}

/// The domain of the cluster's Services.
pub(super) fn cluster_domain(word: Option<String>) -> Result<String, BadValues> {
    Ok(name("clusterDomain", word)?.unwrap_or_else(|| CLUSTER_DOMAIN.to_owned()))
}

/// A name as Kubernetes has them, if there is one.
pub(super) fn name(key: &'static str, word: Option<String>) -> Result<Option<String>, BadValues> {
    if let Some(word) = &word {
        Name::parse(word).map_err(|error| BadValues::Name { key, error })?;
    }
    Ok(word)
}
