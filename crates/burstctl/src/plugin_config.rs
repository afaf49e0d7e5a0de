//! Finds the filter's configuration in its own file or in the Istio object that installs it.

use burst_model::config::{Artifact, Config, Origin};
use serde_json::Value;

/// The paths of the configuration in a WasmPlugin and in a TrafficExtension.
const IN_A_PLUGIN: [&str; 2] = ["/spec/pluginConfig", "/spec/wasm/pluginConfig"];

/// Its path in a patch of an EnvoyFilter.
const IN_A_PATCH: &str = "/patch/value/typed_config/config/configuration";

/// Returns the configuration in a WasmPlugin, TrafficExtension or EnvoyFilter; `None` for any other object. If it is not
/// valid JSON in an EnvoyFilter, it is returned as a string.
#[must_use]
pub fn in_object(object: &Value) -> Option<Value> {
    match object.get("kind")?.as_str() {
        Some("WasmPlugin" | "TrafficExtension") => {
            IN_A_PLUGIN.iter().find_map(|pointer| object.pointer(pointer)).cloned()
        }
        Some("EnvoyFilter") => patches(object).find_map(|patch| embedded_json(patch.pointer(IN_A_PATCH)?)),
        _ => None,
    }
}

/// Returns the patches of an EnvoyFilter.
pub(crate) fn patches(object: &Value) -> impl Iterator<Item = &Value> {
    let patches = object.pointer("/spec/configPatches").and_then(Value::as_array);
    patches.into_iter().flatten()
}

/// Returns the JSON in a `StringValue` or a `Struct`.
fn embedded_json(configuration: &Value) -> Option<Value> {
    match configuration.get("value")? {
        Value::String(text) => Some(serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into())),
        value => Some(value.clone()),
    }
}

/// Returns the configuration that a document is or contains; `None` for another Kubernetes object.
#[must_use]
pub fn in_document(document: &Value) -> Option<Value> {
    if document.get("kind").is_some() {
        in_object(document)
    } else {
        Some(document.clone())
    }
}

/// Why the filter refuses a configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidConfig(String);

/// Parses and checks a configuration as the filter does.
///
/// # Errors
/// The error that the filter logs.
pub fn parse(config: &Value) -> Result<Config, InvalidConfig> {
    if let Value::String(text) = config {
        let parsed = Config::parse(text.as_bytes(), Artifact::Full);
        return parsed.map_err(|error| InvalidConfig(error.to_string()));
    }
    Config::parse(config.to_string().as_bytes(), Artifact::Full)
        .map_err(|error| InvalidConfig(without_json_position(&error.to_string()).to_owned()))
}

/// Returns a reason without its position, which refers to JSON that burstctl generated and not to the user's file.
pub(crate) fn without_json_position(reason: &str) -> &str {
    reason.rsplit_once(" at line ").map_or(reason, |(reason, _)| reason)
}

/// Checks that a configuration reads a cluster.
///
/// # Errors
/// It reads a hub.
pub fn require_cluster_source(config: &Config) -> Result<(), InvalidConfig> {
    match config.origin {
        Origin::Kubernetes => Ok(()),
        Origin::Hub { .. } => Err(InvalidConfig(
            "source: hub does not read a cluster; give the configuration of the hub".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_configuration_is_found_in_each_kind_of_manifest() {
        let config = json!({"cluster": "kube"});
        let string = json!({"@type": "type.googleapis.com/google.protobuf.StringValue", "value": config.to_string()});
        let message = json!({"@type": "type.googleapis.com/google.protobuf.Struct", "value": config});
        let patch = |value: Value| json!({"applyTo": "EXTENSION_CONFIG", "patch": {"value": {"typed_config": {"config": {"configuration": value}}}}});
        for object in [
            json!({"kind": "WasmPlugin", "spec": {"pluginConfig": config}}),
            json!({"kind": "TrafficExtension", "spec": {"wasm": {"pluginConfig": config}}}),
            json!({"kind": "EnvoyFilter", "spec": {"configPatches": [{"applyTo": "HTTP_FILTER"}, patch(string)]}}),
            json!({"kind": "EnvoyFilter", "spec": {"configPatches": [patch(message)]}}),
            config.clone(),
        ] {
            assert_eq!(in_document(&object), Some(config.clone()), "{object}");
        }
        assert_eq!(in_document(&json!({"kind": "ClusterRole"})), None);
    }

    #[test]
    fn invalid_json_is_refused_with_the_filters_message() {
        let value = json!({"value": "{\"cluster\": \"kube\",\n}"});
        let patch = json!({"patch": {"value": {"typed_config": {"config": {"configuration": value}}}}});
        let object = json!({"kind": "EnvoyFilter", "spec": {"configPatches": [patch]}});
        let refused = parse(&in_object(&object).unwrap()).unwrap_err();
        assert_eq!(refused.to_string(), "trailing comma at line 2 column 1");
    }

    #[test]
    fn the_configuration_of_a_spoke_has_no_cluster_to_preview() {
        let reads = |config| require_cluster_source(&parse(&config).unwrap());
        assert_eq!(reads(json!({"cluster": "kube"})), Ok(()));
        let refused = reads(json!({"cluster": "hub", "source": "hub"})).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "source: hub does not read a cluster; give the configuration of the hub"
        );
    }
}
