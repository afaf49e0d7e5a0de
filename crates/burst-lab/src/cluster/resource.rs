//! The resources that the simulated API serves.

use serde_json::{Map, Value, json};

/// One namespaced resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The API group; empty for the core group.
    pub group: String,
    /// The served version, such as `v2`.
    pub version: String,
    /// The plural in paths, such as `horizontalpodautoscalers`.
    pub plural: String,
    /// The kind of an object, such as `HorizontalPodAutoscaler`.
    pub kind: String,
    /// Whether a CustomResourceDefinition defines it: only then do list items carry `kind` and `apiVersion`.
    pub custom: bool,
}

impl Resource {
    /// A resource of a CustomResourceDefinition, such as `argoproj.io/v1alpha1` `rollouts`.
    pub fn custom(group: &str, version: &str, plural: &str, kind: &str) -> Self {
        Resource {
            custom: true,
            ..Resource::built_in(group, version, plural, kind)
        }
    }

    pub(crate) fn built_in(group: &str, version: &str, plural: &str, kind: &str) -> Self {
        Resource {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: plural.to_owned(),
            kind: kind.to_owned(),
            custom: false,
        }
    }

    /// The resources that every cluster serves.
    pub(crate) fn built_ins() -> [Resource; 4] {
        [
            Resource::built_in("", "v1", "services", "Service"),
            Resource::built_in("apps", "v1", "deployments", "Deployment"),
            Resource::built_in("apps", "v1", "statefulsets", "StatefulSet"),
            Resource::built_in(
                "autoscaling",
                "v2",
                "horizontalpodautoscalers",
                "HorizontalPodAutoscaler",
            ),
        ]
    }

    /// The name in faults, counts and RBAC messages: `horizontalpodautoscalers.autoscaling`, `services`.
    pub fn id(&self) -> String {
        group_resource(&self.group, &self.plural)
    }

    /// The `apiVersion` of its objects: `autoscaling/v2`, `v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

impl Resource {
    /// An object with this metadata and no values, as in a bookmark of kube-apiserver v1.36.3.
    pub(crate) fn empty_object(&self, metadata: &Value) -> Value {
        let mut object = Map::new();
        object.insert("kind".to_owned(), json!(self.kind));
        object.insert("apiVersion".to_owned(), json!(self.api_version()));
        object.insert("metadata".to_owned(), metadata.clone());
        if let Value::Object(fields) = empty_fields(&self.id()) {
            object.extend(fields);
        }
        Value::Object(object)
    }
}

/// The fields that Go writes for a built-in type without values; `null` for other resources.
fn empty_fields(id: &str) -> Value {
    let template = json!({ "metadata": {}, "spec": { "containers": null } });
    match id {
        "services" => json!({ "spec": {}, "status": { "loadBalancer": {} } }),
        "deployments.apps" => json!({
            "spec": { "replicas": 0, "selector": null, "template": template, "strategy": {} },
            "status": {},
        }),
        "statefulsets.apps" => json!({
            "spec": { "replicas": 0, "selector": null, "template": template, "serviceName": "", "updateStrategy": {} },
            "status": { "replicas": 0, "availableReplicas": 0 },
        }),
        "horizontalpodautoscalers.autoscaling" => json!({
            "spec": { "scaleTargetRef": { "kind": "", "name": "" }, "maxReplicas": 0 },
            "status": { "desiredReplicas": 0, "currentMetrics": null },
        }),
        _ => Value::Null,
    }
}

/// `plural.group`, or only the plural in the core group, as Kubernetes prints a GroupResource.
pub(crate) fn group_resource(group: &str, plural: &str) -> String {
    if group.is_empty() {
        plural.to_owned()
    } else {
        format!("{plural}.{group}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_kubernetes_writes_them() {
        let names: Vec<_> = Resource::built_ins()
            .iter()
            .map(|r| (r.id(), r.api_version()))
            .collect();
        assert_eq!(names[0], ("services".to_owned(), "v1".to_owned()));
        assert_eq!(
            names[3],
            (
                "horizontalpodautoscalers.autoscaling".to_owned(),
                "autoscaling/v2".to_owned()
            )
        );
    }
}
