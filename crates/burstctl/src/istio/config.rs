//! The filter's own configuration: that of the shipped set, what the values say elsewhere, and `config` over all of it.
//! The filter's own check has the last word, so a set never carries what the filter refuses.

use burst_model::config::{Artifact, Config, ConfigError};
use serde_json::{Value, json};

use super::set::{self, BadValues, CLUSTER_DOMAIN};
use super::template::{GATEWAY_PLUGIN, SIDECAR_PLUGIN};
use super::words::{Proxy, Values};

/// Keys of the filter that belong to the whole set, and so stand elsewhere among the values.
const ELSEWHERE: [(&str, &str); 5] = [
    ("cluster", "the set brings its own, burst_kube_api"),
    (
        "source",
        "the set reads the Kubernetes API; a spoke of a hub needs neither its role nor its cluster",
    ),
    ("namespaces", "`namespaces` above gives the role as well"),
    ("workloads", "`workloads` above gives the role as well"),
    ("cluster_domain", "`clusterDomain` above tells the whole set"),
];

/// `service.namespace` of the gateway that ships.
const SHIPPED_GATEWAY: &str = "istio-ingressgateway.istio-system";
/// What Istio's own gateway and its ServiceAccount are called.
pub(super) const SERVICE: &str = "istio-ingressgateway";

/// `pluginConfig`, and what the filter makes of it.
pub(super) fn check(words: &Values) -> Result<(Value, Config), BadValues> {
    for (key, reason) in ELSEWHERE {
        if words.config.contains_key(key) {
            return Err(BadValues::NotHere(key.to_owned(), reason));
        }
    }
    let mut config = shipped(words)?;
    if let Some(namespaces) = &words.namespaces {
        config = with(config, "namespaces", json!(namespaces));
        if namespaces.is_empty() {
            let default = match words.proxy {
                Proxy::Gateway => "all of them",
                Proxy::Sidecar => "the sidecars' own",
            };
            return Err(BadValues::NoNamespaces(default));
        }
    }
    if let Some(workloads) = &words.workloads {
        config = with(config, "workloads", json!(workloads));
    }
    if let Some(domain) = &words.cluster_domain {
        config = with(config, "cluster_domain", json!(domain));
    }
    json_patch::merge(&mut config, &Value::Object(words.config.clone()));
    let checked = Config::parse(config.to_string().as_bytes(), Artifact::Full);
    let checked = checked.map_err(|error| BadValues::Config {
        key: place(&error),
        error,
    })?;
    Ok((config, checked))
}

/// Of the set that ships, for proxies of this name.
fn shipped(words: &Values) -> Result<Value, BadValues> {
    let namespace = set::namespace(words.proxy, words.namespace.clone())?;
    let service = set::name("service", words.service.clone())?;
    if words.proxy == Proxy::Sidecar {
        if service.is_some() {
            return Err(BadValues::ServiceOfSidecar);
        }
        let mut plugin = SIDECAR_PLUGIN.object()?;
        plugin.replace("/spec/pluginConfig/namespaces", json!([namespace]))?;
        return Ok(plugin.at("/spec/pluginConfig")?.clone());
    }
    let service = service.or_else(|| words.service_account.clone());
    let gateway = format!("{}.{namespace}", service.as_deref().unwrap_or(SERVICE));
    let domain = set::cluster_domain(words.cluster_domain.clone())?;
    let mut plugin = GATEWAY_PLUGIN.object()?;
    let hosts = plugin.at("/spec/pluginConfig/endpoints/hosts")?.as_array();
    let hosts: Vec<_> = hosts
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(|host| host.replace(SHIPPED_GATEWAY, &gateway).replace(CLUSTER_DOMAIN, &domain))
        .collect();
    plugin.replace("/spec/pluginConfig/endpoints/hosts", json!(hosts))?;
    Ok(plugin.at("/spec/pluginConfig")?.clone())
}

fn with(mut config: Value, key: &str, value: Value) -> Value {
    if let Some(keys) = config.as_object_mut() {
        keys.insert(key.to_owned(), value);
    }
    config
}

/// Where among the values a key of the filter stands.
fn place(error: &ConfigError) -> String {
    let key = match error {
        ConfigError::Parse(refusal) => refusal.path().to_owned(),
        ConfigError::InvalidValue { key, .. } => key.clone(),
        ConfigError::MissingCluster | ConfigError::NeedsFullModule(_) => return "config".to_owned(),
    };
    if ["namespaces", "workloads"].iter().any(|above| key.starts_with(above)) {
        key
    } else if key == "cluster_domain" {
        "clusterDomain".to_owned()
    } else {
        format!("config.{key}")
    }
}
