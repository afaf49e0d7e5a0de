//! Explains one metric: its target, its tolerance and its last proposal.

use burst_hpa::metric::SourceType;
use burst_hpa::simulate::{MetricFailure, MetricValue, Proposal, Tolerance};

use crate::metric_model::{MetricModel, TargetValue};
use crate::unit::rounded;

/// The proposal of the last sync, and the replicas at that time.
type LastSync<'a> = (Option<&'a Result<Proposal, MetricFailure>>, i32);

pub(super) fn lines(
    index: usize,
    model: Option<&MetricModel>,
    tolerance: Tolerance,
    last_sync: Option<LastSync<'_>>,
) -> Vec<String> {
    let Some(model) = model else {
        return vec![format!(
            "{}. The controller cannot use this metric; burstctl hpa lint explains why.",
            index + 1
        )];
    };
    let mut lines = vec![
        format!("{}. {}: {}.", index + 1, title(model), describe_target(model)),
        format!("   Nothing happens {}.", tolerance_band(model, tolerance)),
        format!("   Otherwise it proposes {}.", formula(model)),
    ];
    if let Some((proposal, replicas)) = last_sync {
        lines.push(format!("   {}", current_state(model, proposal, replicas, tolerance)));
    }
    lines
}

fn title(model: &MetricModel) -> String {
    let name = &model.name;
    match (model.source, &model.container, &model.object) {
        (SourceType::ContainerResource, Some(container), _) => format!("{name} of container {container}"),
        (SourceType::Object, _, Some((kind, object))) => format!("{name} of {kind} {object}"),
        (SourceType::Pods, ..) => format!("{name} of the pods"),
        (SourceType::External, ..) => format!("{name}, from outside the cluster"),
        _ => format!("{name} of whole pods"),
    }
}

fn describe_target(model: &MetricModel) -> String {
    let target = model.unit.exact(target_milli(model.target));
    match model.target {
        TargetValue::Utilization(_) => format!("{target} of the request"),
        TargetValue::AverageValue(_) => format!("{target} for each pod"),
        TargetValue::Value(_) => format!("{target} in all"),
    }
}

/// `from 72 % to 88 % (tolerance 10 %)`
fn tolerance_band(model: &MetricModel, tolerance: Tolerance) -> String {
    let target = as_f64(target_milli(model.target));
    let bound = |ratio: f64| model.unit.rounded(target * ratio);
    let percent = |ratio: f64| rounded(ratio * 100.0);
    let name = if tolerance.down == tolerance.up {
        format!("tolerance {} %", percent(tolerance.up))
    } else {
        format!(
            "tolerance {} % down, {} % up",
            percent(tolerance.down),
            percent(tolerance.up)
        )
    };
    format!(
        "from {} to {} ({name})",
        bound((1.0 - tolerance.down).max(0.0)),
        bound(1.0 + tolerance.up)
    )
}

fn formula(model: &MetricModel) -> &'static str {
    match (model.is_per_pod(), model.target) {
        (true, TargetValue::Utilization(_)) => "ready pods × utilization ÷ target, rounded up",
        (true, _) => "ready pods × average ÷ target, rounded up",
        (false, TargetValue::Value(_)) => "ready pods × value ÷ target, rounded up",
        (false, _) => "value ÷ target, rounded up",
    }
}

fn current_state(
    model: &MetricModel,
    proposal: Option<&Result<Proposal, MetricFailure>>,
    replicas: i32,
    tolerance: Tolerance,
) -> String {
    let proposal = match proposal {
        Some(Ok(proposal)) => proposal,
        Some(Err(failure)) => return format!("Now it has no value: {failure}."),
        None => return "The last sync did not evaluate it.".to_owned(),
    };
    let wanted = proposal.replicas;
    let Some(value) = value_milli(model.target, proposal.current) else {
        return format!("Now it proposes {wanted}.");
    };
    let (target, unit) = (target_milli(model.target), &model.unit);
    let ratio = as_f64(value) / as_f64(target);
    let compared = format!(
        "Now it is {}: {} ÷ {} = {}",
        unit.exact(value),
        unit.rounded(as_f64(value)),
        unit.rounded(as_f64(target)),
        rounded(ratio)
    );
    if ratio >= 1.0 - tolerance.down && ratio <= 1.0 + tolerance.up {
        return format!("{compared}, within the tolerance, so it proposes the current {wanted}.");
    }
    format!(
        "{compared}; × {replicas} replicas = {}, so it proposes {wanted}.",
        rounded(ratio * f64::from(replicas))
    )
}

/// The target in thousandths, also for percentages.
fn target_milli(target: TargetValue) -> i64 {
    match target {
        TargetValue::Utilization(percent) => i64::from(percent) * 1000,
        TargetValue::AverageValue(milli) | TargetValue::Value(milli) => milli,
    }
}

/// The current value in the unit of the target.
fn value_milli(target: TargetValue, current: MetricValue) -> Option<i64> {
    match target {
        TargetValue::Utilization(_) => Some(i64::from(current.average_utilization?) * 1000),
        TargetValue::AverageValue(_) => current.average_value,
        TargetValue::Value(_) => current.value,
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown to a person, with three digits")]
fn as_f64(milli: i64) -> f64 {
    milli as f64
}
