//! The proposal of one metric.

use super::describe;
use super::failure::{MetricError, MetricFailure};
use super::int::int32;
use super::observation::Samples;
use super::per_pod::PerPod;
use super::plan::{MetricSource, Object, ResourceTargetValue, Series, SingleValueTarget};
use super::single_value;
use super::sync_input::SyncInput;
use super::tolerance::Tolerance;

/// The proposal of one metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The replicas that would bring the metric to its target.
    pub replicas: i32,
    /// The metric in the words of the controller, such as `cpu resource utilization (percentage of request)`.
    pub metric: String,
    /// The current value of the metric, as in `status.currentMetrics`.
    pub current: MetricValue,
}

/// A `MetricValueStatus`; quantities are in thousandths (milli).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetricValue {
    /// `value`.
    pub value: Option<i64>,
    /// `averageValue`.
    pub average_value: Option<i64>,
    /// `averageUtilization`, in percent.
    pub average_utilization: Option<i32>,
}

impl MetricValue {
    fn from_value(value: i64) -> Self {
        Self {
            value: Some(value),
            ..Self::default()
        }
    }

    fn from_average(value: i64) -> Self {
        Self {
            average_value: Some(value),
            ..Self::default()
        }
    }
}

/// The replicas and the current value of the metric.
type ProposalResult = Result<(i32, MetricValue), MetricError>;

impl SyncInput<'_> {
    /// Returns the proposal of `metric`, which is at `index` in the spec.
    pub(super) fn propose(&self, index: usize, metric: &MetricSource) -> Result<Proposal, MetricFailure> {
        let proposed = match metric {
            MetricSource::Resource { resource, target } => self.resource(index, resource, None, *target),
            MetricSource::ContainerResource {
                resource,
                container,
                target,
            } => self.resource(index, resource, Some(container), *target),
            MetricSource::Pods { metric, average } => self.pods(index, metric, *average),
            MetricSource::Object { object, metric, target } => self.object(index, object, metric, *target),
            MetricSource::External { metric, target } => self.external(index, metric, *target),
        };
        match proposed {
            Ok((replicas, current)) => Ok(Proposal {
                replicas,
                metric: describe::metric(metric),
                current,
            }),
            Err(error) => Err(describe::failure(metric, error)),
        }
    }

    fn resource(
        &self,
        index: usize,
        resource: &str,
        container: Option<&str>,
        target: ResourceTargetValue,
    ) -> ProposalResult {
        let samples = self
            .seen
            .samples(index)
            .map_err(|error| unread(format!("metrics for resource {resource}"), error))?;
        self.per_pod(
            samples,
            &PerPod {
                target,
                resource: Some(resource),
                container,
            },
        )
    }

    fn pods(&self, index: usize, metric: &Series, average: i64) -> ProposalResult {
        metric.usable()?;
        let samples = self
            .seen
            .samples(index)
            .map_err(|error| unread(format!("metric {}", metric.name), error))?;
        let target = ResourceTargetValue::AverageValue(average);
        self.per_pod(
            samples,
            &PerPod {
                target,
                resource: None,
                container: None,
            },
        )
    }

    fn per_pod(&self, samples: &Samples, metric: &PerPod<'_>) -> ProposalResult {
        let (replicas, measure) = metric.propose(self, samples)?;
        let average_utilization = measure.utilization;
        Ok((
            replicas,
            MetricValue {
                value: None,
                average_value: Some(measure.average),
                average_utilization,
            },
        ))
    }

    fn object(
        &self,
        index: usize,
        object: &Object,
        metric: &Series,
        target: Option<SingleValueTarget>,
    ) -> ProposalResult {
        metric.usable()?;
        let target = target.ok_or(MetricError::ObjectTarget)?;
        let usage = self.seen.object(index).map_err(|error| {
            // The controller returns these four values in another order than it reads them. The simulator does the same.
            let message = format!("{} on {} {}/{error}", object.kind, self.plan.namespace, object.name);
            unread(format!("metric {}", metric.name), message)
        })?;
        match target {
            SingleValueTarget::Value(target) => self.by_value(usage, target),
            SingleValueTarget::AverageValue(target) => {
                let replicas = int32(self.by_share(usage, target));
                Ok((
                    replicas,
                    MetricValue::from_average(single_value::share(usage, self.scale.status_replicas)),
                ))
            }
        }
    }

    fn external(&self, index: usize, metric: &Series, target: SingleValueTarget) -> ProposalResult {
        metric.usable()?;
        let series = self.seen.external(index).map_err(|error| {
            let Series { name, selector, .. } = metric;
            unread(
                format!("external metric {}/{name}/{selector}", self.plan.namespace),
                error,
            )
        })?;
        match target {
            SingleValueTarget::Value(target) => self.by_value(single_value::sum(series), target),
            SingleValueTarget::AverageValue(target) => {
                let usage = single_value::sum_of_shares(series);
                let replicas = single_value::capped(self.by_share(usage, target));
                // As a float, the largest integer is one too large, so the code does not divide it.
                let share = match usage as f64 >= i64::MAX as f64 {
                    true => i64::MAX,
                    false => single_value::share(usage, self.scale.status_replicas),
                };
                Ok((replicas, MetricValue::from_average(share)))
            }
        }
    }

    fn by_value(&self, usage: i64, target: i64) -> ProposalResult {
        let replicas = single_value::by_value(
            usage,
            target,
            self.scale.spec_replicas,
            &self.seen.pods,
            self.tolerance(),
        )?;
        Ok((replicas, MetricValue::from_value(usage)))
    }

    fn by_share(&self, usage: i64, target: i64) -> f64 {
        single_value::by_share(usage, target, self.scale.status_replicas, self.tolerance())
    }

    pub(super) fn tolerance(&self) -> Tolerance {
        Tolerance::of(self.plan, self.options)
    }
}

fn unread(what: String, error: String) -> MetricError {
    MetricError::Unread { what, error }
}
