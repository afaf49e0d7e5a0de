//! Removes `spec.replicas` from workloads that an HPA scales. With it, every `kubectl apply` would undo the HPA's
//! scaling.

use std::collections::HashMap;

use burst_hpa::{Node, NodeValue};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;

use crate::objects::{Object, group};

/// A `spec.replicas` that was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrippedReplicas {
    /// The index of the source.
    pub source: usize,
    /// The line of `spec.replicas` in the source.
    pub line: usize,
    /// The workload, as in `Deployment shop/web`.
    pub target: String,
    /// The HPA, as in `shop/web`.
    pub hpa: String,
}

/// The HPA of each scaled workload, by the workload's kind, group, namespace and name.
pub(super) struct ScaledWorkloads<'a>(HashMap<[&'a str; 4], &'a HorizontalPodAutoscaler>);

impl<'a> ScaledWorkloads<'a> {
    pub(super) fn by(hpas: &'a [HorizontalPodAutoscaler]) -> Self {
        let target = |hpa: &'a HorizontalPodAutoscaler| {
            let reference = &hpa.spec.scale_target_ref;
            let group = group(reference.api_version.as_deref().unwrap_or_default());
            [reference.kind.as_str(), group, namespace(hpa), reference.name.as_str()]
        };
        Self(hpas.iter().rev().map(|hpa| (target(hpa), hpa)).collect())
    }

    /// Returns the object, without `spec.replicas` if one of the HPAs scales it.
    pub(super) fn without_replicas(&self, object: &Object) -> (Node, Option<StrippedReplicas>) {
        let target = [object.kind(), object.group(), object.namespace(), object.name()];
        strip(object, self.0.get(&target).copied())
    }
}

fn strip(object: &Object, scaling: Option<&HorizontalPodAutoscaler>) -> (Node, Option<StrippedReplicas>) {
    let mut node = object.tree.clone();
    let written = object
        .tree
        .field("spec")
        .and_then(|spec| spec.field("replicas"))
        .is_some();
    let Some(hpa) = scaling.filter(|_| written) else {
        return (node, None);
    };
    if let NodeValue::Object(fields) = &mut node.value {
        for (_, spec) in fields.iter_mut().filter(|(key, _)| key.name == "spec") {
            if let NodeValue::Object(fields) = &mut spec.value {
                fields.retain(|(key, _)| key.name != "replicas");
            }
        }
    }
    let stripped = StrippedReplicas {
        source: object.source,
        line: object.tree.value_span("spec.replicas").start.line,
        target: format!("{} {}", object.kind(), object.title()),
        hpa: format!(
            "{}/{}",
            namespace(hpa),
            hpa.metadata.name.as_deref().unwrap_or_default()
        ),
    };
    (node, Some(stripped))
}

fn namespace(hpa: &HorizontalPodAutoscaler) -> &str {
    hpa.metadata.namespace.as_deref().unwrap_or("default")
}
