//! What an HPA wants and whether it can have it, from its spec and its status.
//!
//! The demand is computed from the metrics as the status has them, with the arithmetic of the HPA controller. It ignores the
//! tolerance, the stabilization and the policies of the HPA, and which pods are ready.
//! <https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#algorithm-details>

use crate::json;
use crate::signal::ScalingState;
use burst_quantity::Quantity;
use serde::Deserialize;
use serde_json::Value;

/// What the status of an HPA says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scaling {
    /// The replicas that the metrics ask for, whatever the minimum and the maximum are. `None` if it is not known.
    pub(super) demand: Option<u32>,
    pub(super) state: ScalingState,
}

/// The parts of an item. They are read as plain JSON: types for all of its fields would make the module larger.
#[derive(Deserialize)]
struct Item {
    spec: Value,
    #[serde(default)]
    status: Value,
}

/// The keys of the metrics' sources. A metric of the status has the same as the metric of the spec; if the controller could not
/// read it, it has none.
const SOURCES: [&str; 5] = ["resource", "containerResource", "pods", OBJECT, EXTERNAL];
const OBJECT: &str = "object";
const EXTERNAL: &str = "external";

/// Reads one item. A status of another form is one that says nothing.
pub(super) fn read(item: &[u8]) -> Scaling {
    let Ok(Item { spec, status }) = json::read::<Item>(item) else {
        return Scaling {
            demand: None,
            state: ScalingState::Unknown,
        };
    };
    let conditions = array(&status, "conditions");
    let is_blocked = has(conditions, "ScalingActive", "False") || has(conditions, "AbleToScale", "False");
    let current = count(&status, "currentReplicas").unwrap_or_default();
    // The values of a blocked HPA may be from before.
    let demand = demand(array(&spec, "metrics"), array(&status, "currentMetrics"), current).filter(|_| !is_blocked);
    let (least, most) = (count(&spec, "minReplicas").unwrap_or(1), count(&spec, "maxReplicas"));
    let exceeds = |demand| most.is_some_and(|most| demand > most);
    let states = [
        (ScalingState::Blocked, is_blocked),
        (
            ScalingState::Limited,
            is_over_maximum(conditions) || demand.is_some_and(exceeds),
        ),
        (ScalingState::Unknown, conditions.is_empty()),
        (
            ScalingState::Scaling,
            count(&status, "desiredReplicas").is_some_and(|desired| desired != current),
        ),
        (ScalingState::Fixed, most == Some(least)),
    ];
    let holding = states.into_iter().filter(|(_, holds)| *holds).map(|(state, _)| state);
    Scaling {
        demand,
        state: holding.max().unwrap_or(ScalingState::Ok),
    }
}

fn has(conditions: &[Value], r#type: &str, status: &str) -> bool {
    let mut conditions = conditions.iter();
    conditions.any(|condition| text(condition, "type") == r#type && text(condition, "status") == status)
}

/// Returns whether the controller wants more replicas than the maximum. `ScalingLimited` is also true at the minimum, which is
/// normal, and while a policy slows the HPA down.
fn is_over_maximum(conditions: &[Value]) -> bool {
    let mut limited = conditions
        .iter()
        .filter(|condition| text(condition, "type") == "ScalingLimited");
    limited.any(|condition| (text(condition, "status"), text(condition, "reason")) == ("True", "TooManyReplicas"))
}

/// The most replicas that one of the metrics asks for. The controller writes the metrics of the status in the order of the
/// spec.
///
/// If one of them is not known, the controller scales up by the others and does not scale down.
fn demand(metrics: &[Value], seen: &[Value], current: u32) -> Option<u32> {
    let each = metrics.iter().enumerate();
    let wanted: Vec<_> = each
        .map(|(index, metric)| wanted(metric, seen.get(index)?, current))
        .collect();
    let is_complete = wanted.iter().all(Option::is_some);
    let most = wanted.into_iter().flatten().max();
    most.filter(|most| is_complete || *most >= current)
}

/// The replicas that a metric of the spec asks for, by the same metric of the status.
fn wanted(metric: &Value, seen: &Value, current: u32) -> Option<u32> {
    let (key, spec) = SOURCES.iter().find_map(|key| Some((*key, metric.get(key)?)))?;
    let seen = seen.get(key)?;
    let is_same = ["name", "container"]
        .iter()
        .all(|key| text(spec, key) == text(seen, key))
        && name_of_metric(spec) == name_of_metric(seen);
    let (target, seen) = (spec.get("target")?, seen.get("current")?);
    let kind = TargetKind::of(target, key)?;
    let (target, seen) = (kind.value(target)?, kind.value(seen)?);
    if !is_same || target <= 0 {
        return None;
    }
    let ratio = |value: i64| value as f64 / target as f64;
    let wanted = match kind {
        // From 0 replicas the controller scales to as many as the ratio says.
        TargetKind::Value => ratio(seen) * f64::from(current.max(1)),
        // There is no average of no pods.
        _ if current == 0 => return None,
        TargetKind::AverageValue if [OBJECT, EXTERNAL].contains(&key) => ratio(least_sum(seen, current)?),
        TargetKind::AverageValue | TargetKind::AverageUtilization => ratio(seen) * f64::from(current),
    };
    Some(replicas(wanted))
}

fn name_of_metric(source: &Value) -> Option<&str> {
    source.get("metric")?.get("name")?.as_str()
}

/// The smallest sum that is `average`, rounded up, for each of the replicas. The controller divides the sum by the target, and
/// the status has only the average: with a larger sum, one that needs exactly n replicas would seem to need one more.
fn least_sum(average: i64, replicas: u32) -> Option<i64> {
    average.checked_sub(1)?.checked_mul(replicas.into())?.checked_add(1)
}

/// How the target of a metric is given.
#[derive(Clone, Copy)]
enum TargetKind {
    AverageUtilization,
    AverageValue,
    Value,
}

impl TargetKind {
    /// The kind that counts of those that are given. Only for an object does the type of the target decide.
    fn of(target: &Value, source: &str) -> Option<Self> {
        let is_value = source == OBJECT && text(target, "type") == "Value";
        let kinds = [Self::AverageValue, Self::AverageUtilization, Self::Value];
        let mut kinds = kinds.into_iter().skip(if is_value { 2 } else { 0 });
        kinds.find(|kind| target.get(kind.key()).is_some())
    }

    fn key(self) -> &'static str {
        match self {
            Self::AverageUtilization => "averageUtilization",
            Self::AverageValue => "averageValue",
            Self::Value => "value",
        }
    }

    /// The value of that kind: percent, or thousandths.
    fn value(self, values: &Value) -> Option<i64> {
        let value = values.get(self.key())?;
        match self {
            Self::AverageUtilization => value.as_i64(),
            Self::AverageValue | Self::Value => milli(value.as_str()?),
        }
    }
}

fn array<'a>(object: &'a Value, key: &str) -> &'a [Value] {
    let array = object.get(key).and_then(Value::as_array);
    array.map(Vec::as_slice).unwrap_or_default()
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn count(object: &Value, key: &str) -> Option<u32> {
    u32::try_from(object.get(key)?.as_u64()?).ok()
}

/// A quantity in thousandths, the unit in which the controller computes.
fn milli(quantity: &str) -> Option<i64> {
    let quantity: Quantity = quantity.parse().ok()?;
    quantity.fits_milli().then(|| quantity.milli_value())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is limited"
)]
fn replicas(wanted: f64) -> u32 {
    wanted.ceil().clamp(0.0, f64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests;
