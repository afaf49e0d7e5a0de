//! What an HPA wants and whether it can have it, from its spec and its status.
//!
//! The demand is computed from the metrics as the status has them, with the arithmetic of the HPA controller. It ignores the
//! tolerance, the stabilization and the policies of the HPA, and which pods are ready.
//! <https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#algorithm-details>

use crate::json;
use crate::signal::ScalingState;
use burst_quantity::Quantity;
use serde::Deserialize;
use std::borrow::Cow;

/// What the status of an HPA says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scaling {
    /// The replicas that the metrics ask for, whatever the minimum and the maximum are. `None` if it is not known.
    pub(super) demand: Option<u32>,
    pub(super) state: ScalingState,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow)]
    spec: Spec<'a>,
    #[serde(borrow, default)]
    status: Option<Status<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec<'a> {
    #[serde(default)]
    min_replicas: Option<u32>,
    max_replicas: u32,
    #[serde(borrow, default)]
    metrics: Option<Vec<Metric<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status<'a> {
    current_replicas: u32,
    desired_replicas: Option<u32>,
    #[serde(borrow)]
    current_metrics: Option<Vec<Metric<'a>>>,
    #[serde(borrow)]
    conditions: Option<Vec<Condition<'a>>>,
}

#[derive(Deserialize)]
struct Condition<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow, default)]
    status: Cow<'a, str>,
    #[serde(borrow, default)]
    reason: Cow<'a, str>,
}

/// A metric of the spec, or the same of the status: the sources have the same names. A metric that the controller could not
/// read has no source in the status.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metric<'a> {
    #[serde(borrow)]
    resource: Option<Source<'a>>,
    #[serde(borrow)]
    container_resource: Option<Source<'a>>,
    #[serde(borrow)]
    pods: Option<Source<'a>>,
    #[serde(borrow)]
    object: Option<Source<'a>>,
    #[serde(borrow)]
    external: Option<Source<'a>>,
}

#[derive(Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Identifier<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Source<'a> {
    /// The name of a resource.
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    container: Cow<'a, str>,
    /// The metric of the other sources.
    #[serde(borrow)]
    metric: Identifier<'a>,
    /// In the spec.
    #[serde(borrow)]
    target: Values<'a>,
    /// In the status.
    #[serde(borrow)]
    current: Values<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Values<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    average_utilization: Option<i32>,
    #[serde(borrow)]
    average_value: Option<Cow<'a, str>>,
    #[serde(borrow)]
    value: Option<Cow<'a, str>>,
}

/// Reads one item. A status of another form is one that says nothing.
pub(super) fn read(item: &[u8]) -> Scaling {
    let unknown = Scaling {
        demand: None,
        state: ScalingState::Unknown,
    };
    let Ok(Item { spec, status }) = json::read::<Item<'_>>(item) else {
        return unknown;
    };
    let status = status.unwrap_or_default();
    let is_blocked = status.has("ScalingActive", "False") || status.has("AbleToScale", "False");
    // The values of a blocked HPA may be from before.
    let demand = demand(&spec, &status).filter(|_| !is_blocked);
    let is_limited = status.is_over_maximum() || demand > Some(spec.max_replicas);
    let is_scaling = status
        .desired_replicas
        .is_some_and(|desired| desired != status.current_replicas);
    let is_fixed = spec.min_replicas.unwrap_or(1) == spec.max_replicas;
    let states = [
        (ScalingState::Blocked, is_blocked),
        (ScalingState::Limited, is_limited),
        (ScalingState::Unknown, status.conditions().is_empty()),
        (ScalingState::Scaling, is_scaling),
        (ScalingState::Fixed, is_fixed),
    ];
    let holding = states.into_iter().filter(|(_, holds)| *holds).map(|(state, _)| state);
    Scaling {
        demand,
        state: holding.max().unwrap_or(ScalingState::Ok),
    }
}

impl Status<'_> {
    fn conditions(&self) -> &[Condition<'_>] {
        self.conditions.as_deref().unwrap_or_default()
    }

    fn has(&self, r#type: &str, status: &str) -> bool {
        let mut conditions = self.conditions().iter();
        conditions.any(|condition| condition.r#type == r#type && condition.status == status)
    }

    /// Returns whether the controller wants more replicas than the maximum. `ScalingLimited` is also true at the minimum, which
    /// is normal, and while a policy slows the HPA down.
    fn is_over_maximum(&self) -> bool {
        let mut conditions = self.conditions().iter();
        conditions.any(|Condition { r#type, status, reason }| {
            (&**r#type, &**status, &**reason) == ("ScalingLimited", "True", "TooManyReplicas")
        })
    }
}

/// The most replicas that one of the metrics asks for. The controller writes the metrics of the status in the order of the
/// spec.
///
/// If one of them is not known, the controller scales up by the others and does not scale down.
fn demand(spec: &Spec<'_>, status: &Status<'_>) -> Option<u32> {
    let metrics = spec.metrics.as_deref().unwrap_or_default();
    let seen = status.current_metrics.as_deref().unwrap_or_default();
    let current = status.current_replicas;
    let wanted = || {
        let each = metrics.iter().enumerate();
        each.map(|(index, metric)| metric.wanted(seen.get(index)?, current))
    };
    let is_complete = wanted().all(|wanted| wanted.is_some());
    wanted().flatten().max().filter(|most| is_complete || *most >= current)
}

impl<'a> Metric<'a> {
    /// The source, with its index among the sources.
    fn source(&self) -> Option<(usize, &Source<'a>)> {
        let sources = [
            &self.resource,
            &self.container_resource,
            &self.pods,
            &self.object,
            &self.external,
        ];
        let mut sources = sources.into_iter().enumerate();
        sources.find_map(|(index, source)| Some((index, source.as_ref()?)))
    }

    /// The replicas that this metric of the spec asks for, by the same metric of the status.
    fn wanted(&self, seen: &Metric<'_>, current: u32) -> Option<u32> {
        let ((index, spec), (seen_index, seen)) = (self.source()?, seen.source()?);
        let kind = spec.target.kind(self.object.is_some())?;
        let (target, seen_value) = (kind.value(&spec.target)?, kind.value(&seen.current)?);
        if index != seen_index || !spec.is_same_metric(seen) || target <= 0 {
            return None;
        }
        let ratio = |value: i64| value as f64 / target as f64;
        let wanted = match kind {
            // From 0 replicas the controller scales to as many as the ratio says.
            TargetKind::Value => ratio(seen_value) * f64::from(current.max(1)),
            // There is no average of no pods.
            _ if current == 0 => return None,
            TargetKind::AverageValue if self.object.is_some() || self.external.is_some() => {
                ratio(least_sum(seen_value, current)?)
            }
            TargetKind::AverageValue | TargetKind::AverageUtilization => ratio(seen_value) * f64::from(current),
        };
        Some(replicas(wanted))
    }
}

/// The smallest sum that is `average`, rounded up, for each of the replicas. The controller divides the sum by the target, and
/// the status has only the average: with a larger sum, one that needs exactly n replicas would seem to need one more.
fn least_sum(average: i64, replicas: u32) -> Option<i64> {
    average.checked_sub(1)?.checked_mul(replicas.into())?.checked_add(1)
}

impl Source<'_> {
    fn is_same_metric(&self, other: &Source<'_>) -> bool {
        (&self.name, &self.container, &self.metric) == (&other.name, &other.container, &other.metric)
    }
}

/// How the target of a metric is given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TargetKind {
    AverageUtilization,
    AverageValue,
    Value,
}

impl TargetKind {
    /// The value of that kind: percent, or thousandths.
    fn value(self, values: &Values<'_>) -> Option<i64> {
        match self {
            Self::AverageUtilization => values.average_utilization.map(i64::from),
            Self::AverageValue => milli(values.average_value.as_deref()?),
            Self::Value => milli(values.value.as_deref()?),
        }
    }
}

impl Values<'_> {
    /// The target that counts. Only for an object does its type decide, if there are several.
    fn kind(&self, is_of_object: bool) -> Option<TargetKind> {
        let is_value = is_of_object && self.r#type == "Value";
        let kinds = [
            (TargetKind::AverageValue, self.average_value.is_some() && !is_value),
            (
                TargetKind::AverageUtilization,
                self.average_utilization.is_some() && !is_value,
            ),
            (TargetKind::Value, self.value.is_some()),
        ];
        kinds.into_iter().find(|(_, is_given)| *is_given).map(|(kind, _)| kind)
    }
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
