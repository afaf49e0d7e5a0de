//! Explains the status that the controller wrote, and compares it with the result of its own numbers.

use burst_hpa::simulate::{Decision, Limit, Outcome, Report};
use burst_hpa::status::HpaStatus;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscalerSpec;

pub(super) fn lines(spec: &HorizontalPodAutoscalerSpec, status: &HpaStatus, report: &Report) -> Vec<String> {
    let mut lines = vec![format!(
        "At the last sync there were {} replicas, and the desired number was {}.",
        status.current_replicas, status.desired_replicas
    )];
    if let Some(decision) = &report.decision {
        lines.push(format!(
            "Highest proposal: {}, from {}.",
            decision.recommended, decision.metric
        ));
        let limit = limit(spec, status.desired_replicas, decision);
        lines.extend(limit.map(|limit| format!("Active limit: {}.", limit_description(limit))));
    }
    lines.extend(without_metrics(spec, status, report));
    for condition in &status.conditions {
        let (kind, value, reason) = (&condition.condition_type, &condition.status, &condition.reason);
        let message = match condition.message.as_str() {
            "" => String::new(),
            message => format!(": {message}"),
        };
        lines.push(format!("{kind} is {value} ({reason}){message}."));
    }
    lines
}

/// The limit that turned the proposal into the desired replicas. The status does not contain the earlier proposals, so the
/// replay can differ where the controller went on to the minimum.
fn limit(spec: &HorizontalPodAutoscalerSpec, desired: i32, decision: &Decision) -> Option<Limit> {
    let (min, max) = (spec.min_replicas.unwrap_or(1), spec.max_replicas);
    if desired == min && decision.recommended < min {
        Some(Limit::MinReplicas)
    } else if desired == max && decision.recommended > max {
        Some(Limit::MaxReplicas)
    } else {
        decision.limit
    }
}

/// The limit that decided if the metrics did not.
fn without_metrics(spec: &HorizontalPodAutoscalerSpec, status: &HpaStatus, report: &Report) -> Option<String> {
    let limit = match &report.outcome {
        Outcome::Rescaled { .. } if report.decision.is_some() => return None,
        Outcome::Rescaled { .. } if status.current_replicas > spec.max_replicas => Limit::MaxReplicas,
        Outcome::Rescaled { .. } => Limit::MinReplicas,
        Outcome::Disabled => {
            return Some(
                "Another client scaled the target to zero, so the controller does nothing until it has replicas."
                    .to_owned(),
            );
        }
        _ => return None,
    };
    Some(format!(
        "Active limit: {}, regardless of the metrics.",
        limit_description(limit)
    ))
}

pub(crate) fn limit_description(limit: Limit) -> &'static str {
    match limit {
        Limit::MaxReplicas => "maxReplicas",
        Limit::MinReplicas => "minReplicas",
        Limit::ScaleUpRate => "the scale-up rate",
        Limit::ScaleDownRate => "the scale-down rate",
    }
}
