//! A number of replicas in the manifest of what is scaled: every `kubectl apply` would set the HPA back to it.

use std::collections::HashMap;

use burst_hpa::{Node, NodeValue};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;

use crate::objects::{Object, group};

/// A number of replicas that is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrippedReplicas {
    /// Index of the source.
    pub source: usize,
    /// The line it stood on.
    pub line: usize,
    /// `Deployment shop/web`
    pub target: String,
    /// `shop/web`
    pub hpa: String,
}

/// What HPAs scale: kind, group, namespace and name.
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

    /// The object without `spec.replicas`, if one of these HPAs scales it.
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
        line: object.tree.place("spec.replicas").start.line,
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
