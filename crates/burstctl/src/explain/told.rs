//! What the controller wrote, beside what follows from its numbers.

use burst_hpa::simulate::{Limit, Report};
use burst_hpa::status::Status;

pub(super) fn lines(status: &Status, report: &Report) -> Vec<String> {
    let mut lines = vec![format!(
        "At the last sync there were {} replicas, and {} were asked for.",
        status.current_replicas, status.desired_replicas
    )];
    if let Some(decision) = &report.decision {
        lines.push(format!(
            "Highest proposal: {}, from {}.",
            decision.recommended, decision.metric
        ));
        if let Some(limit) = decision.limit {
            lines.push(format!("Limit that holds: {}.", limit_words(limit)));
        }
    }
    for condition in &status.conditions {
        let (kind, value, reason) = (&condition.condition_type, &condition.status, &condition.reason);
        lines.push(format!("{kind} is {value} ({reason}): {}.", condition.message));
    }
    lines
}

pub(crate) fn limit_words(limit: Limit) -> &'static str {
    match limit {
        Limit::MaxReplicas => "maxReplicas",
        Limit::MinReplicas => "minReplicas",
        Limit::ScaleUpRate => "how fast it may grow",
        Limit::ScaleDownRate => "how fast it may shrink",
    }
}
