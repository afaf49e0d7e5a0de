//! Scaling rules: windows up to an hour, periods up to half of one, at least one policy a direction.

use k8s_openapi::api::autoscaling::v2::{HPAScalingPolicy, HPAScalingRules, HorizontalPodAutoscalerBehavior};

use super::target::check;
use crate::behavior::{PolicyType, SelectPolicy};
use crate::field_error::Errors;
use crate::field_path::FieldPath;

/// Seconds.
pub(crate) const LONGEST_WINDOW: i32 = 3600;

/// Seconds.
pub(crate) const LONGEST_PERIOD: i32 = 1800;

pub(super) fn behavior(behavior: &HorizontalPodAutoscalerBehavior, path: &FieldPath<'_>, errors: &mut Errors) {
    if let Some(up) = &behavior.scale_up {
        rules(up, &path.field("scaleUp"), errors);
    }
    if let Some(down) = &behavior.scale_down {
        rules(down, &path.field("scaleDown"), errors);
    }
}

fn rules(rules: &HPAScalingRules, path: &FieldPath<'_>, errors: &mut Errors) {
    if let Some(window) = rules.stabilization_window_seconds {
        let path = path.field("stabilizationWindowSeconds");
        if window < 0 {
            errors.invalid(path, window, "must be greater than or equal to zero");
        }
        if window > LONGEST_WINDOW {
            errors.invalid(path, window, format!("must be less than or equal to {LONGEST_WINDOW}"));
        }
    }
    if let Some(select) = rules
        .select_policy
        .as_deref()
        .filter(|select| select.parse::<SelectPolicy>().is_err())
    {
        errors.not_supported(path.field("selectPolicy"), select, &["Disabled", "Max", "Min"]);
    }
    let policies = path.field("policies");
    let listed = rules.policies.as_deref().unwrap_or_default();
    if listed.is_empty() {
        errors.required(policies, "must specify at least one Policy");
    }
    for (index, one) in listed.iter().enumerate() {
        policy(one, &policies.item(index), errors);
    }
    if let Some(tolerance) = &rules.tolerance {
        let path = path.field("tolerance");
        check(
            tolerance,
            path,
            errors,
            |q| q.signum() >= 0,
            "must be greater than or equal to 0",
        );
    }
}

fn policy(policy: &HPAScalingPolicy, path: &FieldPath<'_>, errors: &mut Errors) {
    if policy.type_.parse::<PolicyType>().is_err() {
        errors.not_supported(path.field("type"), &policy.type_, &["Percent", "Pods"]);
    }
    for (name, value) in [("value", policy.value), ("periodSeconds", policy.period_seconds)] {
        if value <= 0 {
            errors.invalid(path.field(name), value, "must be greater than zero");
        }
    }
    if policy.period_seconds > LONGEST_PERIOD {
        let detail = format!("must be less than or equal to {LONGEST_PERIOD}");
        errors.invalid(path.field("periodSeconds"), policy.period_seconds, detail);
    }
}
