//! What one metric asks for, and when it asks for nothing.

use burst_hpa::metric::SourceType;
use burst_hpa::simulate::{MetricFailure, MetricValue, Proposal, Tolerance};

use crate::measure::{Aim, Measure};
use crate::unit::rounded;

/// The proposal of the last sync, and the replicas there were.
type Seen<'a> = (Option<&'a Result<Proposal, MetricFailure>>, i32);

pub(super) fn lines(
    index: usize,
    measure: Option<&Measure>,
    tolerance: Tolerance,
    seen: Option<Seen<'_>>,
) -> Vec<String> {
    let Some(measure) = measure else {
        return vec![format!(
            "{}. A metric the controller cannot use: burstctl hpa lint says why.",
            index + 1
        )];
    };
    let mut lines = vec![
        format!("{}. {}: {}.", index + 1, title(measure), aim(measure)),
        format!("   Nothing happens {}.", band(measure, tolerance)),
        format!("   Otherwise it proposes {}.", formula(measure)),
    ];
    if let Some((proposal, replicas)) = seen {
        lines.push(format!("   {}", now(measure, proposal, replicas, tolerance)));
    }
    lines
}

fn title(measure: &Measure) -> String {
    let name = &measure.name;
    match (measure.source, &measure.container, &measure.object) {
        (SourceType::ContainerResource, Some(container), _) => format!("{name} of container {container}"),
        (SourceType::Object, _, Some((kind, object))) => format!("{name} of {kind} {object}"),
        (SourceType::Pods, ..) => format!("{name} of the pods"),
        (SourceType::External, ..) => format!("{name}, from outside the cluster"),
        _ => format!("{name} of whole pods"),
    }
}

fn aim(measure: &Measure) -> String {
    let target = measure.unit.exact(target(measure.aim));
    match measure.aim {
        Aim::Utilization(_) => format!("{target} of what is requested"),
        Aim::Average(_) => format!("{target} for each pod"),
        Aim::Value(_) => format!("{target} in all"),
    }
}

/// `from 72 % to 88 % (tolerance 10 %)`
fn band(measure: &Measure, tolerance: Tolerance) -> String {
    let target = as_f64(target(measure.aim));
    let edge = |share: f64| measure.unit.rounded(target * share);
    let percent = |share: f64| rounded(share * 100.0);
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
        edge((1.0 - tolerance.down).max(0.0)),
        edge(1.0 + tolerance.up)
    )
}

fn formula(measure: &Measure) -> &'static str {
    match (measure.is_per_pod(), measure.aim) {
        (true, Aim::Utilization(_)) => "ready pods × utilization ÷ target, rounded up",
        (true, _) => "ready pods × average ÷ target, rounded up",
        (false, Aim::Value(_)) => "ready pods × value ÷ target, rounded up",
        (false, _) => "value ÷ target, rounded up",
    }
}

fn now(
    measure: &Measure,
    proposal: Option<&Result<Proposal, MetricFailure>>,
    replicas: i32,
    tolerance: Tolerance,
) -> String {
    let proposal = match proposal {
        Some(Ok(proposal)) => proposal,
        Some(Err(failure)) => return format!("Now it gives nothing: {failure}."),
        None => return "The last sync did not look at it.".to_owned(),
    };
    let wanted = proposal.replicas;
    let Some(value) = value(measure.aim, proposal.current) else {
        return format!("Now it proposes {wanted}.");
    };
    let (target, unit) = (target(measure.aim), &measure.unit);
    let ratio = as_f64(value) / as_f64(target);
    let compared = format!(
        "Now it is {}: {} ÷ {} = {}",
        unit.exact(value),
        unit.rounded(as_f64(value)),
        unit.rounded(as_f64(target)),
        rounded(ratio)
    );
    if ratio >= 1.0 - tolerance.down && ratio <= 1.0 + tolerance.up {
        return format!("{compared}, within the tolerance: it proposes the {wanted} there are.");
    }
    format!(
        "{compared}; × {replicas} replicas = {}, so it proposes {wanted}.",
        rounded(ratio * f64::from(replicas))
    )
}

/// In thousandths, of a per cent too.
fn target(aim: Aim) -> i64 {
    match aim {
        Aim::Utilization(percent) => i64::from(percent) * 1000,
        Aim::Average(milli) | Aim::Value(milli) => milli,
    }
}

/// As the target is.
fn value(aim: Aim, current: MetricValue) -> Option<i64> {
    match aim {
        Aim::Utilization(_) => Some(i64::from(current.average_utilization?) * 1000),
        Aim::Average(_) => current.average_value,
        Aim::Value(_) => current.value,
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown to a person, with three digits")]
fn as_f64(milli: i64) -> f64 {
    milli as f64
}
