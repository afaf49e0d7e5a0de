//! Lints about the target's manifest.

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;

use super::scan::source;
use super::{Findings, Lint};
use crate::field_path::FieldPath;
use crate::spec::spec;
use crate::workload::Workload;

pub(super) fn lint(hpa: &HorizontalPodAutoscaler, target: &Workload, findings: &mut Findings) {
    if let Some(replicas) = target.replicas {
        let title = target.title();
        let effect = format!(
            "{title} sets replicas: {replicas}, so each apply overwrites the number of replicas that the HPA chose."
        );
        let advice = "Remove spec.replicas from the target. The first apply without it briefly sets 1 replica.";
        findings.add(Lint::FixedReplicas, "spec.scaleTargetRef", effect, advice);
    }
    containers(hpa, target, findings);
}

fn containers(hpa: &HorizontalPodAutoscaler, target: &Workload, findings: &mut Findings) {
    let names: Vec<&str> = target.containers().map(|container| container.name.as_str()).collect();
    let spec_path = FieldPath::ROOT.field("spec");
    let metrics_path = spec_path.field("metrics");
    for (index, metric) in spec(hpa).metrics.iter().flatten().enumerate() {
        let Some(container) = source(metric).and_then(|source| source.container) else {
            continue;
        };
        if names.is_empty() || names.contains(&container) {
            continue;
        }
        let metric_path = metrics_path.item(index);
        let effect = format!(
            "The pods of {} have no container {container:?}, so the metric always fails.",
            target.title()
        );
        let advice = format!("Set the container to one of: {}.", names.join(", "));
        let source_path = metric_path.field("containerResource");
        findings.add(Lint::UnknownContainer, source_path.field("container"), effect, advice);
    }
}
