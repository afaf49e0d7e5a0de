//! What one metric asks for, and when it asks for nothing.

use burst_hpa::metric::SourceType;
use burst_hpa::simulate::{MetricFailure, MetricValue, Proposal, Tolerance};

use crate::measure::{Aim, Measure, shown};

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
        format!("   Nothing happens {}.", band(measure.aim, tolerance)),
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
    match measure.aim {
        Aim::Utilization(percent) => format!("{percent} % of what is requested"),
        Aim::Average(milli) => format!("{} for each pod", shown(milli)),
        Aim::Value(milli) => format!("{} in all", shown(milli)),
    }
}

/// `between 72 % and 88 % (tolerance 10 %)`
fn band(aim: Aim, tolerance: Tolerance) -> String {
    let (target, unit) = match aim {
        Aim::Utilization(percent) => (f64::from(percent), " %"),
        Aim::Average(milli) | Aim::Value(milli) => (as_f64(milli) / 1000.0, ""),
    };
    let edge = |share: f64| format!("{}{unit}", rounded(target * share));
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
    let Some((value, target, unit)) = compared(measure.aim, proposal.current) else {
        return format!("Now it proposes {wanted}.");
    };
    let ratio = value / target;
    let (value, target) = (rounded(value), rounded(target));
    let compared = format!("Now it is {value}{unit}: {value} ÷ {target} = {}", rounded(ratio));
    if ratio >= 1.0 - tolerance.down && ratio <= 1.0 + tolerance.up {
        return format!("{compared}, within the tolerance: it proposes the {wanted} there are.");
    }
    format!(
        "{compared}; × {replicas} replicas = {}, so it proposes {wanted}.",
        rounded(ratio * f64::from(replicas))
    )
}

/// Value, target and unit.
fn compared(aim: Aim, current: MetricValue) -> Option<(f64, f64, &'static str)> {
    let plain = |milli: i64| as_f64(milli) / 1000.0;
    match aim {
        Aim::Utilization(target) => Some((f64::from(current.average_utilization?), f64::from(target), " %")),
        Aim::Average(target) => Some((plain(current.average_value?), plain(target), "")),
        Aim::Value(target) => Some((plain(current.value?), plain(target), "")),
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown to a person, with three digits")]
fn as_f64(milli: i64) -> f64 {
    milli as f64
}

/// Three digits behind the point, and no zeros at the end.
fn rounded(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
