//! Lints about scaling rules that stop the HPA, make it slow, or make it too fast.

use k8s_openapi::api::autoscaling::v2::{HPAScalingRules, HorizontalPodAutoscalerSpec};

use super::{Findings, Lint};
use crate::field_path::FieldPath;
use crate::quantity::Quantity;

/// In seconds. The lint reports a scale-down from the maximum to the minimum that takes longer.
const REPORTED_DURATION: u64 = 3600;

/// In seconds. The simulation of the scale-down stops here.
const MAX_SIMULATED_TIME: u64 = 4 * 3600;

/// The seconds between two syncs of the controller.
const SYNC_PERIOD: u64 = 15;

pub(super) fn lint(spec: &HorizontalPodAutoscalerSpec, path: &FieldPath<'_>, findings: &mut Findings) {
    let Some(behavior) = &spec.behavior else { return };
    for (name, rules) in [("scaleUp", &behavior.scale_up), ("scaleDown", &behavior.scale_down)] {
        if let Some(rules) = rules {
            direction(name, rules, &path.field(name), findings);
        }
    }
    if let Some(rules) = &behavior.scale_down {
        let path = path.field("scaleDown");
        slow_scale_down(spec, rules, &path, findings);
        immediate_scale_down(spec, rules, &path, findings);
    }
}

fn direction(name: &str, rules: &HPAScalingRules, path: &FieldPath<'_>, findings: &mut Findings) {
    let tolerance = rules
        .tolerance
        .as_ref()
        .and_then(|written| Quantity::try_from(written).ok());
    if let Some(tolerance) = tolerance.filter(|tolerance| tolerance.milli_value() >= 1000) {
        let effect = match name {
            "scaleDown" => {
                format!(
                    "With a tolerance of {tolerance} (1 is 100 %), the controller never scales down, even without load."
                )
            }
            _ => {
                let least = tolerance.milli_value() / 10 + 100;
                format!(
                    "With a tolerance of {tolerance} (1 is 100 %), the controller scales up only above {least} % of the target."
                )
            }
        };
        findings.add(
            Lint::WideTolerance,
            path.field("tolerance"),
            effect,
            "Set the tolerance to a fraction: 0.1 is 10 %.",
        );
    }
    if rules.select_policy.as_deref() == Some("Disabled") {
        let effect = "The controller never scales in this direction, whatever the load.";
        let advice = "Keep this setting only if something else scales the target in this direction.";
        findings.add(Lint::DisabledDirection, path.field("selectPolicy"), effect, advice);
    }
}

fn slow_scale_down(
    spec: &HorizontalPodAutoscalerSpec,
    rules: &HPAScalingRules,
    path: &FieldPath<'_>,
    findings: &mut Findings,
) {
    let (max, min) = (spec.max_replicas, spec.min_replicas.unwrap_or(1));
    if rules.select_policy.as_deref() == Some("Disabled") {
        return;
    }
    let seconds = seconds_down(max, min, rules);
    if seconds > REPORTED_DURATION {
        let time = if seconds > MAX_SIMULATED_TIME {
            "more than four hours".to_owned()
        } else {
            format!("{} minutes", seconds / 60)
        };
        let effect = format!(
            "After the load is gone, scaling from {max} replicas down to {min} takes {time} plus the stabilization window."
        );
        let advice = "Add a Percent policy, or shorten the periods of the policies.";
        findings.add(Lint::SlowScaleDown, path.field("policies"), effect, advice);
    }
}

fn immediate_scale_down(
    spec: &HorizontalPodAutoscalerSpec,
    rules: &HPAScalingRules,
    path: &FieldPath<'_>,
    findings: &mut Findings,
) {
    let (max, min) = (spec.max_replicas, spec.min_replicas.unwrap_or(1));
    let disabled = rules.select_policy.as_deref() == Some("Disabled");
    if disabled || max.saturating_sub(min) < 2 || rules.stabilization_window_seconds != Some(0) {
        return;
    }
    if seconds_down(max, min, rules) == 0 {
        let effect = format!(
            "The stabilization window is 0 s, so one low reading scales {max} replicas down to {min} at the next sync."
        );
        let advice = "Keep the default window of 300 s, or add policies that remove a few pods at a time.";
        findings.add(
            Lint::HastyScaleDown,
            path.field("stabilizationWindowSeconds"),
            effect,
            advice,
        );
    }
}

/// Returns the seconds that the policies need to scale from one number of replicas down to the other. Stops soon after
/// [`MAX_SIMULATED_TIME`].
fn seconds_down(from: i32, to: i32, rules: &HPAScalingRules) -> u64 {
    let (mut replicas, to) = (i64::from(from), i64::from(to));
    let mut freed: Vec<(u64, i64)> = Vec::new();
    let mut now = 0;
    while now <= MAX_SIMULATED_TIME {
        let floor = floor(replicas, now, &freed, rules).clamp(to.min(replicas), replicas);
        freed.push((now, replicas - floor));
        replicas = floor;
        if replicas <= to {
            break;
        }
        now += SYNC_PERIOD;
    }
    now
}

/// Returns the lowest number of replicas that the policies allow now, after the earlier changes.
fn floor(replicas: i64, now: u64, freed: &[(u64, i64)], rules: &HPAScalingRules) -> i64 {
    let floors = rules.policies.iter().flatten().map(|policy| {
        let period = u64::try_from(policy.period_seconds).unwrap_or(0);
        let within = freed.iter().rev().take_while(|(when, _)| when + period > now);
        let start = replicas + within.map(|(_, pods)| pods).sum::<i64>();
        match policy.type_.as_str() {
            "Percent" => start * i64::from(100 - policy.value.clamp(0, 100)) / 100,
            _ => start - i64::from(policy.value),
        }
    });
    let strictest = rules.select_policy.as_deref() == Some("Min");
    if strictest { floors.max() } else { floors.min() }.unwrap_or(replicas)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::autoscaling::v2::HPAScalingPolicy;

    use super::*;

    fn rules(select: &str, policies: &[(&str, i32, i32)]) -> HPAScalingRules {
        let policy = |&(policy_type, value, period_seconds): &(&str, i32, i32)| HPAScalingPolicy {
            type_: policy_type.to_owned(),
            value,
            period_seconds,
        };
        let policies = Some(policies.iter().map(policy).collect());
        HPAScalingRules {
            policies,
            select_policy: Some(select.to_owned()),
            ..HPAScalingRules::default()
        }
    }

    #[test]
    fn a_scale_down_takes_as_long_as_the_policies_require() {
        let (one_a_minute, half_each_minute) = (("Pods", 1, 60), ("Percent", 50, 60));
        let table = [
            (10, rules("Max", &[("Percent", 100, 15)]), 0, "all at once"),
            (3, rules("Max", &[one_a_minute]), 60, "one now, one after a minute"),
            (9, rules("Max", &[half_each_minute]), 120, "9, 4, 2, 1"),
            (
                9,
                rules("Max", &[one_a_minute, half_each_minute]),
                120,
                "the larger step each time",
            ),
            (
                9,
                rules("Min", &[one_a_minute, half_each_minute]),
                420,
                "the smaller step each time",
            ),
        ];
        for (from, rules, seconds, why) in table {
            assert_eq!(seconds_down(from, 1, &rules), seconds, "{why}");
        }
    }
}
