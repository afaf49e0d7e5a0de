//! Builds the filter's configuration: the shipped one, then the values outside `config`, then `config` itself.
//!
//! The filter's own parser checks the result, so the manifests never contain a configuration that it rejects.

use burst_model::config::{Artifact, Config, ConfigError};
use serde_json::{Value, json};

use super::template::{GATEWAY_PLUGIN, SIDECAR_PLUGIN};
use super::validate::{self, CLUSTER_DOMAIN, InvalidValues, SERVICE};
use super::values::{ProxyKind, Values};

/// Keys of the filter that `config` must not set, because other manifests depend on them as well.
const MANAGED_KEYS: [(&str, &str); 5] = [
    ("cluster", "the manifests define their own, burst_kube_api"),
    (
        "source",
        "the manifests are for a filter that reads the Kubernetes API; a spoke needs neither the role nor the cluster",
    ),
    ("namespaces", "`namespaces` above gives the role as well"),
    ("workloads", "`workloads` above gives the role as well"),
    ("cluster_domain", "set `clusterDomain`, which applies to all manifests"),
];

/// `service.namespace` of the gateway in the shipped manifests.
const SHIPPED_GATEWAY: &str = "istio-ingressgateway.istio-system";

/// Returns `pluginConfig`, both as JSON and as the filter parses it.
pub(super) fn plugin_config(values: &Values) -> Result<(Value, Config), InvalidValues> {
    for (key, reason) in MANAGED_KEYS {
        if values.config.contains_key(key) {
            return Err(InvalidValues::ManagedKey(key.to_owned(), reason));
        }
    }
    let mut config = shipped(values)?;
    if let Some(namespaces) = &values.namespaces {
        config = with_key(config, "namespaces", json!(namespaces));
        if namespaces.is_empty() {
            let default = match values.proxy {
                ProxyKind::Gateway => "all of them",
                ProxyKind::Sidecar => "the sidecars' own",
            };
            return Err(InvalidValues::NoNamespaces(default));
        }
    }
    if let Some(workloads) = &values.workloads {
        config = with_key(config, "workloads", json!(workloads));
    }
    if let Some(domain) = &values.cluster_domain {
        config = with_key(config, "cluster_domain", json!(domain));
    }
    json_patch::merge(&mut config, &Value::Object(values.config.clone()));
    match Config::parse(config.to_string().as_bytes(), Artifact::Full) {
        Ok(parsed) => Ok((config, parsed)),
        Err(error) => Err(InvalidValues::Config {
            key: value_of_key(&error),
            error,
        }),
    }
}

/// Returns the shipped configuration, adjusted to the namespace and the Service of the proxies.
fn shipped(values: &Values) -> Result<Value, InvalidValues> {
    let namespace = validate::namespace(values.proxy, values.namespace.clone())?;
    let service = validate::name("service", values.service.clone())?;
    if values.proxy == ProxyKind::Sidecar {
        if service.is_some() {
            return Err(InvalidValues::ServiceOfSidecar);
        }
        let mut plugin = SIDECAR_PLUGIN.object()?;
        plugin.replace("/spec/pluginConfig/namespaces", json!([namespace]))?;
        return Ok(plugin.at("/spec/pluginConfig")?.clone());
    }
    // A gateway's Service usually has the name of its ServiceAccount.
    let named = service.as_ref().or(values.service_account.as_ref());
    let gateway = format!("{}.{namespace}", named.map_or(SERVICE, String::as_str));
    let domain = validate::cluster_domain(values.cluster_domain.clone())?;
    let mut plugin = GATEWAY_PLUGIN.object()?;
    let hosts: Vec<_> = plugin
        .at("/spec/pluginConfig/endpoints/hosts")?
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(|host| host.replace(SHIPPED_GATEWAY, &gateway).replace(CLUSTER_DOMAIN, &domain))
        .collect();
    plugin.replace("/spec/pluginConfig/endpoints/hosts", json!(hosts))?;
    Ok(plugin.at("/spec/pluginConfig")?.clone())
}

fn with_key(mut config: Value, key: &str, value: Value) -> Value {
    if let Some(keys) = config.as_object_mut() {
        keys.insert(key.to_owned(), value);
    }
    config
}

/// Returns the path in the values of the key that the filter rejected.
fn value_of_key(error: &ConfigError) -> String {
    let key = match error {
        ConfigError::Parse(error) => error.path().to_owned(),
        ConfigError::InvalidValue { key, .. } => key.clone(),
        ConfigError::MissingCluster | ConfigError::NeedsFullModule(_) => return "config".to_owned(),
    };
    if ["namespaces", "workloads"].iter().any(|prefix| key.starts_with(prefix)) {
        key
    } else if key == "cluster_domain" {
        "clusterDomain".to_owned()
    } else {
        format!("config.{key}")
    }
}
