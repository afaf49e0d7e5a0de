//! Lints about the rest of an HPA: target kind, range, status, feature gates.

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;

use super::{Findings, Lint};
use crate::options::Options;
use crate::workload::group;

/// Built-in kinds without a scale subresource.
const UNSCALABLE: [&str; 6] = ["DaemonSet", "Pod", "CronJob", "Job", "Service", "Ingress"];

pub(super) fn lint(hpa: &HorizontalPodAutoscaler, options: Options, findings: &mut Findings) {
    let spec = crate::spec::spec(hpa);
    let kind = &spec.scale_target_ref.kind;
    if UNSCALABLE.contains(&kind.as_str()) && is_own(spec.scale_target_ref.api_version.as_deref()) {
        let effect =
            format!("A {kind} has no scale subresource, so the controller can never scale it (FailedGetScale).");
        let advice = "Use a Deployment, a StatefulSet or another kind with a scale subresource.";
        findings.add(Lint::UnscalableTarget, "spec.scaleTargetRef.kind", effect, advice);
    } else if group(spec.scale_target_ref.api_version.as_deref().unwrap_or_default()) == "extensions" {
        let effect = format!(
            "Since Kubernetes 1.16, the API group extensions has no {kind}, so the controller can never scale it \
             (FailedGetScale)."
        );
        let advice = "Set the apiVersion to apps/v1.";
        findings.add(Lint::UnscalableTarget, "spec.scaleTargetRef.apiVersion", effect, advice);
    }
    super::kind::lint(&spec.scale_target_ref, findings);
    if spec.min_replicas == Some(spec.max_replicas) {
        let effect = format!(
            "minReplicas and maxReplicas are both {}, so the number of replicas never changes.",
            spec.max_replicas
        );
        let advice = "Raise maxReplicas, or remove the HPA and set replicas on the target.";
        findings.add(Lint::FixedRange, "spec.maxReplicas", effect, advice);
    }
    // An object with a uid is in a cluster, where the controller has written its status.
    if hpa.status.is_some() && hpa.metadata.uid.is_none() {
        let effect = "kube-apiserver discards the status of a new object. Only the controller writes the status.";
        findings.add(Lint::IgnoredStatus, "status", effect, "Remove the status.");
    }
    if !options.tolerance {
        dropped_tolerance(hpa, findings);
    }
}

/// Returns whether the group belongs to Kubernetes. Other groups may have scalable kinds with the same names.
fn is_own(api_version: Option<&str>) -> bool {
    let group = group(api_version.unwrap_or_default());
    !group.contains('.') || group.ends_with(".k8s.io")
}

fn dropped_tolerance(hpa: &HorizontalPodAutoscaler, findings: &mut Findings) {
    let Some(behavior) = &crate::spec::spec(hpa).behavior else {
        return;
    };
    for (name, rules) in [("scaleUp", &behavior.scale_up), ("scaleDown", &behavior.scale_down)] {
        if rules.as_ref().is_some_and(|rules| rules.tolerance.is_some()) {
            let effect = "Without the feature gate HPAConfigurableTolerance, kube-apiserver silently drops this field.";
            let advice =
                "Enable the feature gate (it is enabled by default since Kubernetes 1.35), or remove the field.";
            findings.add(
                Lint::DroppedTolerance,
                format_args!("spec.behavior.{name}.tolerance"),
                effect,
                advice,
            );
        }
    }
}
