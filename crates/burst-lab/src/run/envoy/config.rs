//! The configuration of Envoy with the ports of this run. The file has the default ports, so that it can be used as it is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Where the files of `envoy-local/` expect the module: relative to the root of the repository.
const MODULE_FOLDER: &str = "target/wasm/";
/// The cluster of the Kubernetes API; every other cluster is one of the sample services.
const KUBE_API: &str = "kube_api";

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error(
        "cannot read {path:?}: {source}; start burst-lab in the root of the repository, or name the file with --config"
    )]
    Read { path: PathBuf, source: io::Error },
    #[error("{path:?} is not valid YAML: {reason}")]
    Yaml { path: PathBuf, reason: String },
}

/// The ports of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    pub(crate) listener: u16,
    pub(crate) admin: u16,
    pub(crate) api: u16,
    /// `None` if the cluster has no services that Envoy reaches.
    pub(crate) services: Option<u16>,
}

/// Reads a configuration and replaces its ports, and the folder of the module if one is given. Returns JSON.
pub(crate) fn load(path: &Path, ports: Ports, modules: Option<&Path>) -> Result<String, ConfigError> {
    let text = fs::read_to_string(path).map_err(|source| ConfigError::Read {
        path: path.to_owned(),
        source,
    })?;
    let mut config: Value = serde_saphyr::from_str(&text).map_err(|error| ConfigError::Yaml {
        path: path.to_owned(),
        reason: error.to_string(),
    })?;
    set_ports(&mut config, ports);
    if let Some(modules) = modules {
        let folder = format!("{}/", modules.display());
        each_text(&mut config, &mut |text| {
            if let Some(file) = text.strip_prefix(MODULE_FOLDER) {
                *text = format!("{folder}{file}");
            }
        });
    }
    Ok(config.to_string())
}

fn set_ports(config: &mut Value, ports: Ports) {
    let listener = "/static_resources/listeners/0/address/socket_address/port_value";
    if let Some(port) = config.pointer_mut(listener) {
        let before = format!("localhost:{port}/");
        *port = json!(ports.listener);
        // The page for unknown hosts has commands to try.
        each_text(config, &mut |text| {
            *text = text.replace(&before, &format!("localhost:{}/", ports.listener));
        });
    }
    if let Some(port) = config.pointer_mut("/admin/address/socket_address/port_value") {
        *port = json!(ports.admin);
    }
    let clusters = config
        .pointer_mut("/static_resources/clusters")
        .and_then(Value::as_array_mut);
    for cluster in clusters.into_iter().flatten() {
        let port = if cluster["name"] == KUBE_API {
            Some(ports.api)
        } else {
            ports.services
        };
        let endpoint = "/load_assignment/endpoints/0/lb_endpoints/0/endpoint/address/socket_address/port_value";
        if let (Some(port), Some(value)) = (port, cluster.pointer_mut(endpoint)) {
            *value = json!(port);
        }
    }
}

fn each_text(value: &mut Value, change: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, change)),
        Value::Object(fields) => fields.values_mut().for_each(|field| each_text(field, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORTS: Ports = Ports {
        listener: 81,
        admin: 82,
        api: 83,
        services: Some(84),
    };

    fn repository() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    /// The ports of a configuration, by the place.
    fn ports(name: &str, modules: Option<&Path>) -> (Value, Vec<u64>) {
        let json = load(&repository().join("envoy-local").join(name), PORTS, modules).unwrap();
        let config: Value = serde_json::from_str(&json).unwrap();
        let mut ports = Vec::new();
        find_ports(&config, &mut ports);
        ports.sort_unstable();
        (config, ports)
    }

    fn find_ports(value: &Value, found: &mut Vec<u64>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("port_value").and_then(Value::as_u64));
                fields.values().for_each(|field| find_ports(field, found));
            }
            Value::Array(items) => items.iter().for_each(|item| find_ports(item, found)),
            _ => {}
        }
    }

    #[test]
    fn every_port_is_replaced_and_so_are_the_commands_to_try() {
        let (config, found) = ports("envoy.yaml", None);
        assert_eq!(found, [81, 82, 83, 84, 84, 84, 84]);
        let text = config.to_string();
        assert!(
            text.contains("localhost:81/burstmetrics/") && !text.contains("8080"),
            "{text}"
        );
        assert!(text.contains("\"target/wasm/burst-metrics.wasm\""), "{text}");
        assert_eq!(ports("context.yaml", None).1, [81, 82, 83]);
    }

    #[test]
    fn the_module_can_be_in_another_folder() {
        let text = ports("envoy.yaml", Some(Path::new("/build/wasm"))).0.to_string();
        assert!(
            text.contains("\"/build/wasm/burst-metrics.wasm\"") && !text.contains("target/wasm"),
            "{text}"
        );
    }

    #[test]
    fn a_missing_file_is_named_with_what_to_do() {
        let error = load(Path::new("no/such.yaml"), PORTS, None).unwrap_err().to_string();
        assert!(
            error.starts_with("cannot read \"no/such.yaml\": ") && error.contains("--config"),
            "{error}"
        );
    }
}
