//! The lint about percentage policies at 0 replicas.

use k8s_openapi::api::autoscaling::v2::{HPAScalingRules, HorizontalPodAutoscalerSpec};

use super::{Findings, Lint};
use crate::field_path::FieldPath;

/// A policy allows ⌈replicas at the start of its period × (1 + percent ÷ 100)⌉, which is 0 for 0 replicas. Pods that were
/// removed within the period still count, so the problem appears only after the period. See
/// `calculateScaleUpLimitWithScalingRules` in
/// <https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/horizontal.go>.
pub(super) fn lint(spec: &HorizontalPodAutoscalerSpec, path: &FieldPath<'_>, findings: &mut Findings) {
    let up = spec.behavior.as_ref().and_then(|behavior| behavior.scale_up.as_ref());
    let Some(rules) = up.filter(|_| spec.min_replicas == Some(0)) else {
        return;
    };
    if !adds_nothing(rules) {
        return;
    }
    let effect = "A percentage of 0 replicas is 0, so the controller never scales the target up from zero.";
    let advice = "Add a policy of type Pods, and use selectPolicy: Max.";
    findings.add(
        Lint::StuckAtZero,
        path.field("behavior").field("scaleUp").field("policies"),
        effect,
        advice,
    );
}

/// `Max` selects the largest change, which is zero if all are zero. `Min` selects the smallest, which is zero if any is.
fn adds_nothing(rules: &HPAScalingRules) -> bool {
    let mut policies = rules.policies.iter().flatten();
    match rules.select_policy.as_deref() {
        Some("Disabled") => false,
        Some("Min") => policies.any(|policy| policy.type_ == "Percent"),
        _ => policies.all(|policy| policy.type_ == "Percent"),
    }
}
