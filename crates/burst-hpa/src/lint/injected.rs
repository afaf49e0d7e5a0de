//! The lint about sidecars that a webhook injects into pods on admission.

use super::scan::Source;
use super::{Findings, Lint};
use crate::field_path::FieldPath;
use crate::metric::{Resource, SourceType};
use crate::workload::Workload;

/// The labels and annotations that request an injected container.
const INJECTORS: [(&str, &str, &str); 5] = [
    ("sidecar.istio.io/inject", "true", "istio-proxy"),
    ("istio.io/rev", "", "istio-proxy"),
    ("linkerd.io/inject", "enabled", "linkerd-proxy"),
    ("linkerd.io/inject", "ingress", "linkerd-proxy"),
    ("dapr.io/enabled", "true", "daprd"),
];

pub(super) fn lint(
    source: &Source<'_>,
    target: &Workload,
    resource: Resource,
    path: &FieldPath<'_>,
    findings: &mut Findings,
) {
    if source.kind != SourceType::Resource {
        return;
    }
    let metadata = target.template.metadata.as_ref();
    let label_or_annotation = |key: &str| {
        let labels = metadata.and_then(|metadata| metadata.labels.as_ref()?.get(key));
        labels.or(metadata.and_then(|metadata| metadata.annotations.as_ref()?.get(key)))
    };
    let is_requested = |(key, value, _): &&(&str, &str, &str)| {
        label_or_annotation(key).is_some_and(|actual| value.is_empty() || actual == value)
    };
    let Some((key, _, sidecar)) = INJECTORS.iter().find(is_requested) else {
        return;
    };
    if target.containers().any(|container| container.name == *sidecar) {
        return;
    }
    let name = resource.as_str();
    let effect = format!(
        "{key} adds the container {sidecar} to the pods. The controller counts its {name} too, and the metric fails if it has no {name} request."
    );
    let advice = "Use a ContainerResource metric for the application's container.";
    findings.add(Lint::InjectedSidecar, path, effect, advice);
}
