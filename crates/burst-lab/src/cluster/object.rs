//! The parts that all Kubernetes objects share: identity, the metadata that a server sets, and patches.

use std::time::SystemTime;

use serde_json::{Map, Value, json};

/// Why an object was refused.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// The text is not YAML or JSON.
    #[error("not YAML: {0}")]
    Yaml(String),
    /// No registered resource has this `apiVersion` and `kind`.
    #[error("apiVersion {api_version:?}, kind {kind:?}: no such resource is registered")]
    UnknownKind {
        /// Of the object.
        api_version: String,
        /// Of the object.
        kind: String,
    },
    /// `metadata.name` is missing or empty.
    #[error("{kind} without metadata.name")]
    MissingName {
        /// Of the object.
        kind: String,
    },
    /// The object to change does not exist.
    #[error("{resource} {key:?} not found")]
    NotFound {
        /// The resource, such as `horizontalpodautoscalers.autoscaling`.
        resource: String,
        /// `namespace/name`.
        key: String,
    },
}

/// `apiVersion`, `kind`, and `namespace/name`; the default namespace is `default`.
pub(super) struct Identity {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Identity {
    pub(super) fn of(object: &Value) -> Result<Self, ObjectError> {
        let text = |pointer| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let namespace = Some(text("/metadata/namespace")).filter(|namespace| !namespace.is_empty());
        let identity = Identity {
            api_version: text("/apiVersion"),
            kind: text("/kind"),
            namespace: namespace.unwrap_or_else(|| "default".to_owned()),
            name: text("/metadata/name"),
        };
        if identity.name.is_empty() {
            Err(ObjectError::MissingName { kind: identity.kind })
        } else {
            Ok(identity)
        }
    }

    pub(super) fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

/// The object as a server stores it: sets `uid`, `creationTimestamp` and `generation`, or keeps those of `before`. The
/// status is a subresource, so a missing one is kept as well.
pub(super) fn with_server_metadata(
    mut object: Value,
    before: Option<&Value>,
    identity: &Identity,
    serial: u64,
) -> Value {
    let kept = |pointer: &str| before.and_then(|before| before.pointer(pointer)).cloned();
    let spec_moved = before.is_some_and(|before| before.get("spec") != object.get("spec"));
    let generation = kept("/metadata/generation").and_then(|g| g.as_u64()).unwrap_or(1) + u64::from(spec_moved);
    let created = || json!(humantime::format_rfc3339_seconds(SystemTime::now()).to_string());
    if let Some(status) = kept("/status")
        && object.get("status").is_none()
    {
        object["status"] = status;
    }
    let metadata = &mut object["metadata"];
    metadata["namespace"] = json!(identity.namespace);
    metadata["generation"] = json!(generation);
    metadata["uid"] = kept("/metadata/uid").unwrap_or_else(|| json!(format!("00000000-0000-4000-8000-{serial:012x}")));
    metadata["creationTimestamp"] = kept("/metadata/creationTimestamp").unwrap_or_else(created);
    object
}

/// Applies a JSON merge patch (RFC 7386), as `kubectl patch --type=merge` sends it.
pub(super) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    for (key, value) in patch {
        match target.as_object_mut() {
            Some(fields) if value.is_null() => drop(fields.remove(key)),
            Some(fields) => merge(fields.entry(key).or_insert(Value::Null), value),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_patch_sets_replaces_and_removes() {
        let mut object = json!({ "a": { "b": 1, "c": 2 }, "d": [1, 2] });
        merge(
            &mut object,
            &json!({ "a": { "b": 3, "c": null }, "d": [4], "e": { "f": null, "g": 5 } }),
        );
        assert_eq!(object, json!({ "a": { "b": 3 }, "d": [4], "e": { "g": 5 } }));
    }

    #[test]
    fn a_changed_spec_raises_the_generation_and_keeps_the_rest() {
        let identity = Identity::of(&json!({ "kind": "Service", "metadata": { "name": "web" } })).unwrap();
        let first = with_server_metadata(
            json!({ "metadata": {}, "spec": 1, "status": "ready" }),
            None,
            &identity,
            7,
        );
        let second = with_server_metadata(json!({ "metadata": {}, "spec": 2 }), Some(&first), &identity, 8);
        assert_eq!(
            (&first["metadata"]["generation"], &second["metadata"]["generation"]),
            (&json!(1), &json!(2))
        );
        assert_eq!(second["metadata"]["uid"], "00000000-0000-4000-8000-000000000007");
        assert_eq!(second["status"], "ready");
        assert_eq!(second["metadata"]["namespace"], "default");
    }

    #[test]
    fn an_object_without_a_name_is_refused() {
        let refused = Identity::of(&json!({ "kind": "Service", "metadata": {} }))
            .err()
            .unwrap();
        assert_eq!(refused.to_string(), "Service without metadata.name");
    }
}
