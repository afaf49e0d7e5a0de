//! Lints about percentage policies at 0 replicas.

use k8s_openapi::api::autoscaling::v2::{HPAScalingRules, HorizontalPodAutoscalerSpec};

use super::{Findings, Lint};
use crate::path::Path;

/// A policy allows ⌈replicas at the start of its period × (1 + percent ÷ 100)⌉, and of 0 that is 0. Pods that went within
/// the period still count, so it shows only when all have been away for longer: `calculateScaleUpLimitWithScalingRules` of
/// <https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/horizontal.go>.
pub(super) fn lint(spec: &HorizontalPodAutoscalerSpec, path: &Path<'_>, findings: &mut Findings) {
    let up = spec.behavior.as_ref().and_then(|behavior| behavior.scale_up.as_ref());
    let Some(rules) = up.filter(|_| spec.min_replicas == Some(0)) else {
        return;
    };
    if !adds_nothing(rules) {
        return;
    }
    let effect = "A percentage of 0 replicas is 0, so what was scaled to zero is never scaled up again.";
    let advice = "Add a policy of type Pods, and leave selectPolicy at Max.";
    findings.add(
        Lint::StuckAtZero,
        path.field("behavior").field("scaleUp").field("policies"),
        effect,
        advice,
    );
}

/// The larger of several changes is zero if all are; the smaller one is zero if any is.
fn adds_nothing(rules: &HPAScalingRules) -> bool {
    let mut policies = rules.policies.iter().flatten();
    match rules.select_policy.as_deref() {
        Some("Disabled") => false,
        Some("Min") => policies.any(|policy| policy.type_ == "Percent"),
        _ => policies.all(|policy| policy.type_ == "Percent"),
    }
}
