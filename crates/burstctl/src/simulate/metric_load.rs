//! The load of one metric: its unit, how much of it a pod can serve, and what the controller measures.

use std::fmt::{self, Display};

use burst_hpa::metric::SourceType;
use burst_hpa::simulate::Tolerance;

use super::amount::{Amount, AmountUnit, Level};
use super::timeline::Demand;
use crate::metric_model::{MetricModel, TargetValue};
use crate::unit::{format_milli, rounded};

/// 100 %, in thousandths of a percent.
const FULL: i64 = 100_000;

/// A metric under load.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricLoad {
    /// The metric.
    pub model: MetricModel,
    /// How much load one pod can serve; `None` if neither the metric nor the user says it.
    pub capacity: Option<PodCapacity>,
}

/// How much load one pod can serve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PodCapacity {
    /// In thousandths of the unit of the load; above zero.
    pub milli: i64,
    /// Where the number is from.
    pub source: CapacitySource,
}

/// Where a [`PodCapacity`] is from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CapacitySource {
    /// `--pod-capacity`, in this unit.
    Option(AmountUnit),
    /// All that the pod requests.
    Request,
    /// The target and the tolerance: with more load per pod, the controller wants more pods.
    Target {
        /// The tolerance above the target, as a fraction.
        tolerance: f64,
    },
}

/// Why `--pod-capacity` does not fit an HPA.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CapacityError {
    /// Several metrics.
    #[error("it is for an HPA with one metric, and this one has {0}; without it, their targets say what a pod serves")]
    Metrics(usize),
    /// A pod that serves nothing.
    #[error("a pod has to serve something")]
    Zero,
    /// Percent of a metric that has no percentage.
    #[error("{0} has no utilization as its target, so a percentage of it has no meaning")]
    Percent(String),
    /// Requests per second of a resource metric that has an amount as its target.
    #[error(
        "{0} has an averageValue as its target, so requests per second cannot be converted; write an amount of {0}"
    )]
    Requests(String),
}

/// Why a level of `--load` does not fit a metric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LevelError {
    /// Several metrics.
    #[error("the HPA has {0} metrics; write the load in multiples, such as spike:10x, or use --trace")]
    Metrics(usize),
    /// A level that follows from the target, of a metric whose target is not for each pod.
    #[error("{0} has a total as its target, so no load follows from it; write amounts, such as spike:200,from=20")]
    Total(String),
    /// Requests per second, and nothing that converts them.
    #[error("how many rps does one pod serve at most? Add --pod-capacity, such as --pod-capacity 20rps")]
    NoCapacity,
    /// Percent where the load is in another unit.
    #[error("the load of {0} is not in percent")]
    Percent(String),
    /// Too large.
    #[error("it is more than the controller's thousandths hold, 9.2P")]
    TooLarge,
}

impl MetricLoad {
    /// Returns the metrics of an HPA with what a pod can serve of each.
    ///
    /// # Errors
    /// `--pod-capacity` does not fit the HPA.
    pub fn of(
        models: Vec<MetricModel>,
        capacity: Option<Amount>,
        tolerance: Tolerance,
    ) -> Result<Vec<Self>, CapacityError> {
        let Some(amount) = capacity else {
            let load = |model: MetricModel| Self {
                capacity: default_capacity(&model, tolerance.up),
                model,
            };
            return Ok(models.into_iter().map(load).collect());
        };
        match <[MetricModel; 1]>::try_from(models) {
            Ok([model]) => Ok(vec![Self {
                capacity: Some(given_capacity(&model, amount)?),
                model,
            }]),
            Err(models) => Err(CapacityError::Metrics(models.len())),
        }
    }

    /// Returns the name of the metric, with that of its container or object.
    #[must_use]
    pub fn label(&self) -> String {
        let MetricModel {
            name,
            container,
            object,
            ..
        } = &self.model;
        match (container, object) {
            (Some(container), _) => format!("{container}/{name}"),
            (None, Some((_, object))) => format!("{object}/{name}"),
            (None, None) => name.clone(),
        }
    }

    /// Returns the unit of the load as it is shown behind a number: ` rps`, ` %` or nothing.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        let source = self.capacity.map(|capacity| capacity.source);
        match (source, self.model.target) {
            (Some(CapacitySource::Option(AmountUnit::RequestsPerSecond)), _) => " rps",
            (_, TargetValue::Utilization(_)) => " %",
            _ => "",
        }
    }

    /// Formats an amount of load in its unit: `200 rps`, `400 %`, `64Mi`.
    fn show(&self, milli: i64) -> String {
        match self.unit() {
            " rps" => format!("{} rps", format_milli(milli.into())),
            _ => self.model.unit.exact(milli),
        }
    }

    /// Returns a line for the lowest and the highest load.
    pub(super) fn describe_load(&self, (least, most): (i64, i64)) -> String {
        let (name, most) = (self.label(), self.show(most));
        match self.show(least) {
            least if least == most => format!("load: {most} of {name}"),
            least => format!("load: {least} to {most} of {name}"),
        }
    }

    /// Returns whether the load is in requests per second, and the metric in percent.
    fn is_converted(&self) -> bool {
        let in_requests = self
            .capacity
            .is_some_and(|capacity| capacity.source == CapacitySource::Option(AmountUnit::RequestsPerSecond));
        in_requests && matches!(self.model.target, TargetValue::Utilization(_))
    }

    /// Returns what the metrics API measures when `ready` pods have a load, both in thousandths.
    ///
    /// Pods that serve all that they can (`--pod-capacity`) do not use more of a resource, however many requests wait.
    #[must_use]
    pub fn measured(&self, load: i64, ready: usize) -> i64 {
        let Some(capacity) = self.capacity else { return load };
        let is_resource = matches!(self.model.source, SourceType::Resource | SourceType::ContainerResource);
        let is_given = matches!(capacity.source, CapacitySource::Option(_));
        let all = capacity.milli.saturating_mul(i64::try_from(ready).unwrap_or(i64::MAX));
        let served = if is_resource && is_given { load.min(all) } else { load };
        if self.is_converted() {
            converted(served, FULL, capacity.milli).unwrap_or(i64::MAX)
        } else {
            served
        }
    }

    /// Returns the pods that a load needs, in thousandths; `None` if it is unknown what one pod serves.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "a share of the demand needs no more than 15 digits"
    )]
    pub fn demand(&self, load: i64) -> Option<Demand> {
        let (load, capacity) = (load.max(0), self.capacity?.milli.max(1));
        let replicas = u64::try_from(load).ok()?.div_ceil(u64::try_from(capacity).ok()?);
        Some(Demand {
            pods: load as f64 / capacity as f64,
            replicas: i32::try_from(replicas).unwrap_or(i32::MAX),
        })
    }

    /// Returns the load with which `replicas` are exactly at the target, in thousandths.
    ///
    /// # Errors
    /// The target is a total, or the load is too large.
    pub fn at_target(&self, replicas: i32) -> Result<i64, LevelError> {
        if matches!(self.model.target, TargetValue::Value(_)) {
            return Err(LevelError::Total(self.model.name.clone()));
        }
        let target = self.target_milli();
        let one = match self.capacity {
            Some(capacity) if self.is_converted() => converted(target, capacity.milli, FULL),
            _ => Some(target),
        };
        one.and_then(|one| one.checked_mul(replicas.into()))
            .ok_or(LevelError::TooLarge)
    }

    fn target_milli(&self) -> i64 {
        match self.model.target {
            TargetValue::Utilization(percent) => i64::from(percent) * 1000,
            TargetValue::AverageValue(milli) | TargetValue::Value(milli) => milli,
        }
    }

    /// Returns a level in thousandths; a multiple is one of `base`. The HPA has `metrics` metrics.
    ///
    /// # Errors
    /// The level does not fit the metric, or `base` fails.
    pub fn level(
        &self,
        level: Level,
        metrics: usize,
        base: impl FnOnce() -> Result<i64, LevelError>,
    ) -> Result<i64, LevelError> {
        match level {
            Level::Times(factor) => converted(base()?, factor, 1000).ok_or(LevelError::TooLarge),
            Level::Amount(_) if metrics != 1 => Err(LevelError::Metrics(metrics)),
            Level::Amount(amount) => self.amount(amount),
        }
    }

    fn amount(&self, amount: Amount) -> Result<i64, LevelError> {
        let is_utilization = matches!(self.model.target, TargetValue::Utilization(_));
        let is_resource = matches!(self.model.source, SourceType::Resource | SourceType::ContainerResource);
        match amount.unit {
            AmountUnit::Percent if !is_utilization || self.is_converted() => {
                Err(LevelError::Percent(self.model.name.clone()))
            }
            AmountUnit::RequestsPerSecond if is_resource && !self.is_converted() => Err(LevelError::NoCapacity),
            _ => Ok(amount.milli),
        }
    }
}

/// What a pod can serve if the user does not say it.
fn default_capacity(model: &MetricModel, tolerance: f64) -> Option<PodCapacity> {
    let above_target = |target: i64| PodCapacity {
        milli: target.saturating_add(fraction(target, tolerance)).max(1),
        source: CapacitySource::Target { tolerance },
    };
    match model.target {
        TargetValue::AverageValue(target) => Some(above_target(target)),
        TargetValue::Utilization(percent) => {
            let request = PodCapacity {
                milli: FULL,
                source: CapacitySource::Request,
            };
            // With a target near the request or above it, the pods are meant to use more than they request.
            let target = above_target(i64::from(percent) * 1000);
            Some(if target.milli > FULL { target } else { request })
        }
        TargetValue::Value(_) => None,
    }
}

fn given_capacity(model: &MetricModel, amount: Amount) -> Result<PodCapacity, CapacityError> {
    let is_utilization = matches!(model.target, TargetValue::Utilization(_));
    let is_resource = matches!(model.source, SourceType::Resource | SourceType::ContainerResource);
    match amount.unit {
        _ if amount.milli == 0 => Err(CapacityError::Zero),
        AmountUnit::Percent if !is_utilization => Err(CapacityError::Percent(model.name.clone())),
        AmountUnit::RequestsPerSecond if is_resource && !is_utilization => {
            Err(CapacityError::Requests(model.name.clone()))
        }
        unit => Ok(PodCapacity {
            milli: amount.milli,
            source: CapacitySource::Option(unit),
        }),
    }
}

/// `value × numerator ÷ denominator`; `None` if it is too large.
fn converted(value: i64, numerator: i64, denominator: i64) -> Option<i64> {
    let product = i128::from(value) * i128::from(numerator);
    i64::try_from(product / i128::from(denominator).max(1)).ok()
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "a tolerance has few digits, and a float to integer conversion saturates"
)]
fn fraction(value: i64, fraction: f64) -> i64 {
    (value as f64 * fraction).round() as i64
}

/// A line such as `a pod serves 11 of requests: its target 10 and 10 % tolerance`.
impl Display for MetricLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.label();
        let Some(PodCapacity { milli, source }) = self.capacity else {
            return write!(
                f,
                "{name}, as its target is a total; --pod-capacity says what a pod serves"
            );
        };
        let amount = self.show(milli);
        match source {
            CapacitySource::Option(AmountUnit::RequestsPerSecond) if self.is_converted() => {
                write!(f, "a pod serves {amount} with 100 % of its {name} request")
            }
            CapacitySource::Option(AmountUnit::RequestsPerSecond) => write!(f, "a pod serves {amount}"),
            CapacitySource::Option(AmountUnit::Percent) => write!(f, "a pod serves {amount} of its {name} request"),
            CapacitySource::Option(AmountUnit::Unwritten) => write!(f, "a pod serves {amount} of {name}"),
            CapacitySource::Request => write!(f, "a pod serves what 100 % of its {name} request can"),
            CapacitySource::Target { tolerance } => {
                let (target, percent) = (self.show(self.target_milli()), rounded(tolerance * 100.0));
                write!(
                    f,
                    "a pod serves {amount} of {name}: its target {target} and {percent} % tolerance"
                )
            }
        }
    }
}
