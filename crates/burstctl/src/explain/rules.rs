//! Explains how fast replicas change.

use std::time::Duration;

use burst_hpa::simulate::ControllerOptions;
use k8s_openapi::api::autoscaling::v2::{HPAScalingRules, HorizontalPodAutoscalerSpec};

pub(super) fn lines(spec: &HorizontalPodAutoscalerSpec, options: &ControllerOptions) -> Vec<String> {
    let sync = length(options.sync_period);
    let stabilization = length(options.downscale_stabilization);
    let Some(behavior) = &spec.behavior else {
        return vec![
            format!("Up: every {sync} at most to twice the replicas, or to 4 if that is more."),
            format!("Down: at once, but not below the highest proposal of the last {stabilization}."),
        ];
    };
    let rules = |label: &str, rules: &Option<HPAScalingRules>, unset: &str| {
        rules.as_ref().map_or_else(
            || format!("{label}: the defaults of Kubernetes apply."),
            |rules| direction(label, rules, unset),
        )
    };
    vec![
        rules("Up", &behavior.scale_up, "0s"),
        rules("Down", &behavior.scale_down, &stabilization),
    ]
}

fn direction(label: &str, rules: &HPAScalingRules, unset: &str) -> String {
    let select = rules.select_policy.as_deref().unwrap_or("Max");
    if select == "Disabled" {
        return format!("{label}: never.");
    }
    let policies: Vec<String> = rules
        .policies
        .iter()
        .flatten()
        .map(|policy| {
            let unit = match (policy.type_.as_str(), policy.value) {
                ("Percent", _) => " %",
                (_, 1) => " pod",
                _ => " pods",
            };
            format!("{}{unit} in {}", policy.value, seconds(policy.period_seconds))
        })
        .collect();
    let joint = if select == "Min" {
        " or, if less, "
    } else {
        " or, if more, "
    };
    let window = rules
        .stabilization_window_seconds
        .map_or_else(|| unset.to_owned(), seconds);
    let stabilization = match (window.as_str(), label) {
        ("0s", _) => "at once".to_owned(),
        (_, "Up") => format!("not above the lowest proposal of the last {window}"),
        _ => format!("not below the highest proposal of the last {window}"),
    };
    format!("{label}: at most {}; {stabilization}.", policies.join(joint))
}

fn seconds(seconds: i32) -> String {
    length(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

fn length(duration: Duration) -> String {
    humantime::format_duration(duration).to_string()
}
