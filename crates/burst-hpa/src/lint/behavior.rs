//! Scaling rules that stop or nearly stop the HPA.

use k8s_openapi::api::autoscaling::v2::{HPAScalingPolicy, HPAScalingRules, HorizontalPodAutoscalerSpec};

use super::{Findings, Lint};
use crate::path::Path;
use crate::quantity::Quantity;

/// Seconds. Longer than this from the maximum to the minimum is worth a word.
const LONG: u64 = 3600;

pub(super) fn lint(spec: &HorizontalPodAutoscalerSpec, path: &Path<'_>, findings: &mut Findings) {
    let Some(behavior) = &spec.behavior else { return };
    for (name, rules) in [("scaleUp", &behavior.scale_up), ("scaleDown", &behavior.scale_down)] {
        if let Some(rules) = rules {
            direction(rules, &path.field(name), findings);
        }
    }
    if let Some(rules) = &behavior.scale_down {
        slow(spec, rules, &path.field("scaleDown"), findings);
    }
}

fn direction(rules: &HPAScalingRules, path: &Path<'_>, findings: &mut Findings) {
    let tolerance = rules
        .tolerance
        .as_ref()
        .and_then(|written| Quantity::try_from(written).ok());
    if let Some(tolerance) = tolerance.filter(|tolerance| tolerance.milli_value() >= 1000) {
        let effect =
            format!("With a tolerance of {tolerance} (1 is 100 %) hardly any load is ever far enough off the target.");
        findings.add(
            Lint::WideTolerance,
            path.field("tolerance"),
            effect,
            "Write a fraction: 0.1 is 10 %.",
        );
    }
    if rules.select_policy.as_deref() == Some("Disabled") {
        let effect = "Scaling in this direction never happens, whatever the load.";
        let advice = "Keep it only if something else scales the target in this direction.";
        findings.add(Lint::DisabledDirection, path.field("selectPolicy"), effect, advice);
    }
}

fn slow(spec: &HorizontalPodAutoscalerSpec, rules: &HPAScalingRules, path: &Path<'_>, findings: &mut Findings) {
    let min = spec.min_replicas.unwrap_or(1);
    let Some(seconds) = seconds_down(spec.max_replicas, min, rules).filter(|seconds| *seconds > LONG) else {
        return;
    };
    let effect = format!(
        "From {} replicas down to {min} takes at least {} minutes, although the load is gone.",
        spec.max_replicas,
        seconds / 60
    );
    let advice = "Add a Percent policy, or shorten the periods.";
    findings.add(Lint::SlowScaleDown, path.field("policies"), effect, advice);
}

/// The time the policies need, not counting the stabilization window; `None` if they never get there.
fn seconds_down(from: i32, to: i32, rules: &HPAScalingRules) -> Option<u64> {
    let policies = rules.policies.as_deref().unwrap_or_default();
    // The quickest way there is never longer than the way under the one policy that holds at every step.
    let times = policies.iter().map(|policy| seconds_under(from, to, policy));
    match rules.select_policy.as_deref() {
        Some("Disabled") => None,
        Some("Min") => times.collect::<Option<Vec<_>>>()?.into_iter().max(),
        _ => times.flatten().min(),
    }
}

fn seconds_under(from: i32, to: i32, policy: &HPAScalingPolicy) -> Option<u64> {
    let value = i64::from(policy.value);
    let (mut replicas, mut periods) = (i64::from(from), 0_u64);
    while replicas > i64::from(to) {
        let step = match policy.type_.as_str() {
            // Truncation always frees at least one.
            "Percent" => replicas - replicas * (100 - value).max(0) / 100,
            _ => value,
        };
        if step <= 0 {
            return None;
        }
        replicas -= step;
        periods += 1;
        if periods > 100_000 {
            break;
        }
    }
    Some(periods.saturating_sub(1) * u64::try_from(policy.period_seconds).ok()?)
}
