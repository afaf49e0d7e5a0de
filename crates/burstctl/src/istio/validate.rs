//! Checks of single values, and the error that names the invalid one.

use std::net::IpAddr;

use burst_labels::content;
use burst_model::config::ConfigError;
use burst_model::name::{InvalidName, Name};

use super::module::InvalidModule;
use super::template::TemplateMismatch;
use super::values::ProxyKind;

/// The namespace of Istio's own ingress gateway.
pub(super) const NAMESPACE: &str = "istio-system";
/// The name of Istio's own ingress gateway and its ServiceAccount.
pub(super) const SERVICE: &str = "istio-ingressgateway";
/// The default cluster domain of Kubernetes.
pub(super) const CLUSTER_DOMAIN: &str = "cluster.local";

/// Why the values cannot be rendered.
#[derive(Debug, thiserror::Error)]
pub(super) enum InvalidValues {
    #[error("{error}")]
    Name { key: &'static str, error: InvalidName },
    #[error("{error}")]
    Module { key: &'static str, error: InvalidModule },
    #[error("is missing; there is no default namespace for sidecars")]
    NoNamespace,
    #[error(
        "name it: pods with these labels need not run as {}, and the role is for their ServiceAccount alone",
        SERVICE
    )]
    NoServiceAccount,
    #[error("is empty, which selects every proxy of the namespace; give the labels of the gateway's pods")]
    NoLabels,
    #[error("{reason}")]
    NotALabel { key: String, reason: String },
    #[error("{value:?} is not a namespace: {reason}")]
    NotANamespace { value: String, reason: String },
    #[error("is empty; if it is not set, it is {0}")]
    NoNamespaces(&'static str),
    #[error("{value:?} is not a network; give an address or a CIDR such as 10.0.0.0/8")]
    NotANetwork { index: usize, value: String },
    #[error("is empty, which allows no network; if it is not set, every private network is allowed")]
    NoNetworks,
    #[error("applies only to a gateway; the paths of a sidecar are those of its pod")]
    ServiceOfSidecar,
    #[error("must not be set here: {1}")]
    ManagedKey(String, &'static str),
    #[error("{error}")]
    Config { key: String, error: ConfigError },
    #[error("{0}")]
    TemplateMismatch(#[from] TemplateMismatch),
}

impl InvalidValues {
    /// Returns the path of the invalid value; empty if the error is about no single value.
    pub(super) fn key(&self) -> String {
        match self {
            Self::Name { key, .. } => (*key).to_owned(),
            Self::Module { key: "", .. } => "module".to_owned(),
            Self::Module { key, .. } => format!("module.{key}"),
            Self::NoNamespace | Self::NotANamespace { .. } => "namespace".to_owned(),
            Self::NotALabel { key, .. } => format!("labels.{key}"),
            Self::NoLabels => "labels".to_owned(),
            Self::NoServiceAccount => "serviceAccount".to_owned(),
            Self::NotANetwork { index, .. } => format!("allowedNetworks[{index}]"),
            Self::NoNetworks => "allowedNetworks".to_owned(),
            Self::NoNamespaces(_) => "namespaces".to_owned(),
            Self::ServiceOfSidecar => "service".to_owned(),
            Self::ManagedKey(key, _) => format!("config.{key}"),
            Self::Config { key, .. } => key.clone(),
            Self::TemplateMismatch(_) => String::new(),
        }
    }
}

/// Checks that a pod can have this label.
pub(super) fn label((key, value): (&String, &String)) -> Result<(), InvalidValues> {
    let invalid = |what: &str, reasons: Vec<String>| {
        let first = reasons.into_iter().next()?;
        Some(format!("{what} is not valid in a label: {first}"))
    };
    let reason = invalid(&format!("the key {key:?}"), content::label_key(key))
        .or_else(|| invalid(&format!("{value:?}"), content::label_value(value)));
    reason.map_or(Ok(()), |reason| {
        Err(InvalidValues::NotALabel {
            key: key.clone(),
            reason,
        })
    })
}

/// Checks the namespace of the proxies. Only a gateway has a default.
pub(super) fn namespace(proxy: ProxyKind, value: Option<String>) -> Result<String, InvalidValues> {
    match (value, proxy) {
        (Some(value), _) => match content::dns_label(&value).into_iter().next() {
            None => Ok(value),
            Some(reason) => Err(InvalidValues::NotANamespace { value, reason }),
        },
        (None, ProxyKind::Gateway) => Ok(NAMESPACE.to_owned()),
        (None, ProxyKind::Sidecar) => Err(InvalidValues::NoNamespace),
    }
}

/// Checks that each network, if there are any, is one that Istio accepts.
pub(super) fn networks(values: Option<Vec<String>>) -> Result<Option<Vec<String>>, InvalidValues> {
    let Some(values) = values else { return Ok(None) };
    if values.is_empty() {
        return Err(InvalidValues::NoNetworks);
    }
    match values.iter().position(|value| !is_network(value)) {
        Some(index) => Err(InvalidValues::NotANetwork {
            index,
            value: values.get(index).cloned().unwrap_or_default(),
        }),
        None => Ok(Some(values)),
    }
}

fn is_network(value: &str) -> bool {
    let (address, bits) = value.split_once('/').unwrap_or((value, "0"));
    let Ok(address) = address.parse::<IpAddr>() else {
        return false;
    };
    let max_bits = if address.is_ipv4() { 32 } else { 128 };
    let is_number = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
    is_number && bits.parse::<u8>().is_ok_and(|bits| bits <= max_bits)
}

/// Checks the domain of the cluster's Services, or returns the default.
pub(super) fn cluster_domain(value: Option<String>) -> Result<String, InvalidValues> {
    Ok(name("clusterDomain", value)?.unwrap_or_else(|| CLUSTER_DOMAIN.to_owned()))
}

/// Checks that a value, if there is one, is a valid Kubernetes name.
pub(super) fn name(key: &'static str, value: Option<String>) -> Result<Option<String>, InvalidValues> {
    if let Some(value) = &value {
        Name::parse(value).map_err(|error| InvalidValues::Name { key, error })?;
    }
    Ok(value)
}
