//! Migrates older versions of the API to `autoscaling/v2`: `v1`, which clusters still serve, and `v2beta1` and
//! `v2beta2`, which they no longer do (since Kubernetes 1.25 and 1.26).
//!
//! It works on nodes, so unknown fields stay where they are and [`decode`](crate::decode()) reports them. The rules are those of
//! <https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/autoscaling/v1/conversion.go> and of the conversions
//! that Kubernetes 1.33 still had for the betas.

mod annotations;
mod fields;
mod metric;

use fields::ObjectFields;

use crate::decode::{API_VERSION, KIND};
use crate::node::{Node, NodeValue};

/// A document of the new version, with notes for the reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migration {
    /// `autoscaling/v2`.
    pub document: Node,
    /// The parts that could not be migrated.
    pub notes: Vec<Note>,
}

/// A part of the old document that was dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The path in the old document.
    pub field: String,
    /// The reason, in one sentence.
    pub text: String,
}

/// Why a document cannot be migrated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MigrateError {
    /// Not an object.
    #[error("expected an object, found {found}")]
    NotAnObject {
        /// "a list", …
        found: &'static str,
    },
    /// Another kind of object.
    #[error("kind: expected {KIND:?}, found {found:?}")]
    OtherKind {
        /// Empty if there is none.
        found: String,
    },
    /// An unknown version.
    #[error("apiVersion: expected autoscaling/v1, v2beta1, v2beta2 or v2, found {found:?}")]
    OtherVersion {
        /// Empty if there is none.
        found: String,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    V1,
    V2Beta1,
    V2Beta2,
    V2,
}

/// The same HPA as `autoscaling/v2`.
///
/// ```
/// use burst_hpa::{Node, migrate};
///
/// let old = Node::from_json(r#"{
///     "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
///     "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
///              "maxReplicas": 5, "targetCPUUtilizationPercentage": 60}
/// }"#)?;
/// let new = burst_hpa::decode(&migrate(&old)?.document).unwrap();
/// assert_eq!(new.spec.metrics.unwrap()[0].resource.as_ref().unwrap().target.average_utilization, Some(60));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the document is not an HPA of a known version.
pub fn migrate(document: &Node) -> Result<Migration, MigrateError> {
    let version = version(document)?;
    let NodeValue::Object(fields) = &document.value else {
        return Err(MigrateError::NotAnObject {
            found: document.type_name(),
        });
    };
    let mut fields = ObjectFields(fields.clone());
    let mut notes = Vec::new();
    if version != Version::V2 {
        fields.set("apiVersion", Node::string(API_VERSION));
        fields.within("spec", |spec| metrics(spec, version));
        annotations::unfold(&mut fields, &mut notes);
    }
    if version == Version::V1 {
        fields.within("spec", cpu);
    }
    if matches!(version, Version::V1 | Version::V2Beta1) && fields.take("status").is_some() {
        let text = "dropped: the controller writes the status, and the apiserver discards any other".to_owned();
        notes.push(Note {
            field: "status".to_owned(),
            text,
        });
    }
    Ok(Migration {
        document: NodeValue::Object(fields.0).into(),
        notes,
    })
}

fn version(document: &Node) -> Result<Version, MigrateError> {
    let text = |name| {
        document
            .field(name)
            .and_then(Node::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    if text("kind") != KIND {
        return Err(MigrateError::OtherKind { found: text("kind") });
    }
    match text("apiVersion").as_str() {
        "autoscaling/v1" => Ok(Version::V1),
        "autoscaling/v2beta1" => Ok(Version::V2Beta1),
        "autoscaling/v2beta2" => Ok(Version::V2Beta2),
        API_VERSION => Ok(Version::V2),
        found => Err(MigrateError::OtherVersion {
            found: found.to_owned(),
        }),
    }
}

/// `v2beta2` was announced with the fields of `v2beta1` and came with those of `v2`; both are read.
fn metrics(spec: &mut ObjectFields, version: Version) {
    if let Some(NodeValue::List(metrics)) = spec.last_mut("metrics").map(|node| &mut node.value) {
        for old in metrics {
            metric::convert(old, version == Version::V2Beta1);
        }
    }
}

/// The only metric with a field in `v1`; it comes last, after those of the annotation.
fn cpu(spec: &mut ObjectFields) {
    let Some(utilization) = spec
        .take("targetCPUUtilizationPercentage")
        .filter(|node| node.value != NodeValue::Null)
    else {
        return;
    };
    let target = Node::object([
        ("type", Node::string("Utilization")),
        ("averageUtilization", utilization),
    ]);
    let resource = Node::object([("name", Node::string("cpu")), ("target", target)]);
    let metric = Node::object([("type", Node::string("Resource")), ("resource", resource)]);
    match spec.last_mut("metrics").map(|node| &mut node.value) {
        Some(NodeValue::List(metrics)) => metrics.push(metric),
        _ => spec.set("metrics", Node::list(vec![metric])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, admit, decode};

    fn migrated(old: &str) -> Migration {
        migrate(&Node::from_json(old).unwrap()).unwrap()
    }

    fn spec(old: &str) -> serde_json::Value {
        let document = migrated(old).document;
        let hpa = decode(&document).unwrap_or_else(|e| panic!("{e:?}\n{document:?}"));
        serde_json::to_value(hpa.spec).unwrap()
    }

    /// The example of the External metrics proposal, as it was announced.
    const PROPOSED: &str = r#"{"kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v2beta2", "spec": {
        "scaleTargetRef": {"kind": "ReplicationController", "name": "Worker"}, "minReplicas": 2, "maxReplicas": 10,
        "metrics": [{"type": "External", "external": {"metricName": "queue_messages_ready",
            "metricSelector": {"matchLabels": {"queue": "worker_tasks"}}, "targetAverageValue": 30}}]}}"#;

    #[test]
    fn the_example_of_the_proposal_migrates_except_for_its_name() {
        let document = migrated(PROPOSED).document;
        let refusal = admit(&document, Options::default()).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "metadata.name: Required value: name or generateName is required"
        );
        assert_eq!(
            spec(PROPOSED)["metrics"],
            serde_json::json!([{"type": "External", "external": {
                "metric": {"name": "queue_messages_ready", "selector": {"matchLabels": {"queue": "worker_tasks"}}},
                "target": {"type": "AverageValue", "averageValue": "30"},
            }}])
        );
    }

    #[test]
    fn every_source_of_v2beta1_is_migrated() {
        let old = r#"{"kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v2beta1", "status": {}, "spec": {"maxReplicas": 3,
            "metrics": [
                {"type": "Resource", "resource": {"name": "cpu", "targetAverageUtilization": 50}},
                {"type": "ContainerResource", "containerResource": {"name": "memory", "container": "app", "targetAverageValue": "1Gi"}},
                {"type": "Pods", "pods": {"metricName": "qps", "targetAverageValue": "10", "selector": {}}},
                {"type": "Object", "object": {"target": {"kind": "Service", "name": "s"}, "metricName": "hits", "targetValue": "5"}},
                {"type": "Object", "object": {"target": {"kind": "Service", "name": "s"}, "metricName": "hits", "targetValue": 0, "averageValue": "5"}}
            ]}}"#;
        let object = serde_json::json!({"kind": "Service", "name": "s"});
        assert_eq!(
            spec(old)["metrics"],
            serde_json::json!([
                {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}},
                {"type": "ContainerResource", "containerResource": {"name": "memory", "container": "app", "target": {"type": "AverageValue", "averageValue": "1Gi"}}},
                {"type": "Pods", "pods": {"metric": {"name": "qps", "selector": {}}, "target": {"type": "AverageValue", "averageValue": "10"}}},
                {"type": "Object", "object": {"describedObject": object, "metric": {"name": "hits"}, "target": {"type": "Value", "value": "5"}}},
                {"type": "Object", "object": {"describedObject": object, "metric": {"name": "hits"}, "target": {"type": "AverageValue", "averageValue": "5"}}},
            ])
        );
        assert_eq!(migrated(old).notes.first().unwrap().field, "status");
    }

    #[test]
    fn a_document_of_the_new_version_stays_as_it_is() {
        let node = Node::from_json(
            r#"{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "spec": {"foo": 1}}"#,
        )
        .unwrap();
        assert_eq!(
            migrate(&node).unwrap(),
            Migration {
                document: node,
                notes: vec![]
            }
        );
    }

    #[test]
    fn another_kind_or_version_is_refused_by_name() {
        let error = |text| migrate(&Node::from_json(text).unwrap()).unwrap_err().to_string();
        assert_eq!(
            error(r#"{"kind": "Scale"}"#),
            r#"kind: expected "HorizontalPodAutoscaler", found "Scale""#
        );
        assert_eq!(
            error(r#"{"kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v3"}"#),
            r#"apiVersion: expected autoscaling/v1, v2beta1, v2beta2 or v2, found "autoscaling/v3""#
        );
    }
}
