//! The metrics of a spec, and pods for which they have given values.

use std::collections::BTreeMap;
use std::time::Duration;

use burst_hpa::Quantity;
use burst_hpa::metric::{SourceType, TargetType};
use burst_hpa::simulate::{Container, Phase, Pod, Reading, Ready, Requests, Sample, Samples, Time};
use k8s_openapi::api::autoscaling::v2::{MetricSpec, MetricTarget};

use crate::unit::Unit;

/// Every simulated container requests 100 of each resource, so one percent is 1.
const POD_REQUEST_MILLI: i64 = 100_000;

/// The window of metrics-server.
const WINDOW: Duration = Duration::from_secs(15);

/// One metric of a spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricModel {
    /// The source of its value.
    pub source: SourceType,
    /// `cpu`, or the name of the metric.
    pub name: String,
    /// Of a `ContainerResource` metric.
    pub container: Option<String>,
    /// The object of an `Object` metric: kind and name.
    pub object: Option<(String, String)>,
    /// The target.
    pub target: TargetValue,
    /// The unit in which value and target are shown.
    pub unit: Unit,
}

/// A target; amounts are in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetValue {
    /// Percent of the request.
    Utilization(i32),
    /// Per pod.
    AverageValue(i64),
    /// In total.
    Value(i64),
}

impl MetricModel {
    /// Returns the metric as the controller reads it; `None` if it is invalid or never works.
    #[must_use]
    pub fn from_spec(spec: &MetricSpec) -> Option<Self> {
        let source: SourceType = spec.type_.parse().ok()?;
        let (name, target) = match source {
            SourceType::Resource => spec.resource.as_ref().map(|source| (&source.name, &source.target))?,
            SourceType::ContainerResource => spec
                .container_resource
                .as_ref()
                .map(|source| (&source.name, &source.target))?,
            SourceType::Pods => spec.pods.as_ref().map(|source| (&source.metric.name, &source.target))?,
            SourceType::Object => spec
                .object
                .as_ref()
                .map(|source| (&source.metric.name, &source.target))?,
            SourceType::External => spec
                .external
                .as_ref()
                .map(|source| (&source.metric.name, &source.target))?,
        };
        let object = spec.object.as_ref().map(|source| &source.described_object);
        let (target, unit) = target_of(source, target)?;
        Some(Self {
            source,
            name: name.clone(),
            container: spec.container_resource.as_ref().map(|source| source.container.clone()),
            object: object.map(|object| (object.kind.clone(), object.name.clone())),
            target,
            unit,
        })
    }

    /// Returns whether its value is divided among the pods.
    #[must_use]
    pub fn is_per_pod(&self) -> bool {
        matches!(
            self.source,
            SourceType::Resource | SourceType::ContainerResource | SourceType::Pods
        )
    }

    /// Returns the reading of a metrics API if the ready pods shared this `total` (in thousandths; for utilization, thousandths
    /// of a percent of one pod's request).
    #[must_use]
    pub fn reading(&self, total: i64, pods: &[Pod], containers: usize, now: Time) -> Reading {
        match self.source {
            SourceType::Object => Reading::Object(total),
            SourceType::External => Reading::External(vec![total]),
            SourceType::Resource => Reading::Pods(distribute(self.scaled(total, containers), pods, now)),
            SourceType::ContainerResource | SourceType::Pods => {
                Reading::Pods(distribute(self.scaled(total, 1), pods, now))
            }
        }
    }

    fn scaled(&self, total: i64, containers: usize) -> i64 {
        match self.target {
            TargetValue::Utilization(_) => total.saturating_mul(i64::try_from(containers).unwrap_or(1)),
            TargetValue::AverageValue(_) | TargetValue::Value(_) => total,
        }
    }
}

/// Chooses the target field as the controller does: by a fixed preference, and only for `Object` by the type.
fn target_of(source: SourceType, target: &MetricTarget) -> Option<(TargetValue, Unit)> {
    let read = |written: &Option<_>, target: fn(i64) -> TargetValue| {
        let quantity = Quantity::try_from(written.as_ref()?).ok()?;
        Some((target(quantity.milli_value()), Unit::of(&quantity)))
    };
    let utilization = |percent| (TargetValue::Utilization(percent), Unit::percent());
    let (value, average) = (
        read(&target.value, TargetValue::Value),
        read(&target.average_value, TargetValue::AverageValue),
    );
    match source {
        SourceType::Resource | SourceType::ContainerResource => average.or(target.average_utilization.map(utilization)),
        SourceType::Pods => average,
        SourceType::External => average.or(value),
        SourceType::Object => match target.type_.parse().ok()? {
            TargetType::Value => value,
            TargetType::AverageValue => average,
            TargetType::Utilization => None,
        },
    }
}

/// Divides the total among the ready pods; the first pods get the remainder.
fn distribute(total: i64, pods: &[Pod], now: Time) -> Samples {
    let ready: Vec<&Pod> = pods.iter().filter(|pod| is_ready(pod)).collect();
    let count = i64::try_from(ready.len()).unwrap_or(i64::MAX).max(1);
    let (each, rest) = (total.div_euclid(count), total.rem_euclid(count));
    let carried = ready
        .iter()
        .zip(0..)
        .map(|(pod, index)| (pod.name.clone(), each + i64::from(index < rest)));
    let idle = pods
        .iter()
        .filter(|pod| !is_ready(pod))
        .map(|pod| (pod.name.clone(), 0));
    carried
        .chain(idle)
        .map(|(name, value)| {
            (
                name,
                Sample {
                    value,
                    at: now,
                    window: WINDOW,
                },
            )
        })
        .collect()
}

fn is_ready(pod: &Pod) -> bool {
    pod.ready.is_some_and(|ready| ready.status == Some(true))
}

/// Returns the containers that the metrics name; at least one.
#[must_use]
pub fn containers(models: &[MetricModel]) -> Vec<String> {
    let mut names: Vec<String> = models.iter().filter_map(|model| model.container.clone()).collect();
    names.sort();
    names.dedup();
    if names.is_empty() {
        names.push("app".to_owned());
    }
    names
}

/// Returns a running pod.
#[must_use]
pub fn pod(name: String, containers: &[String], models: &[MetricModel], started: Time, ready: Ready) -> Pod {
    let resources = models.iter().filter(|model| model.is_per_pod());
    let requests: BTreeMap<String, i64> = resources.map(|model| (model.name.clone(), POD_REQUEST_MILLI)).collect();
    let containers = containers.iter().map(|name| Container {
        name: name.clone(),
        requests: requests.clone(),
    });
    Pod {
        name,
        phase: Phase::Running,
        ready: Some(ready),
        started: Some(started),
        deleted: false,
        requests: Requests {
            containers: containers.collect(),
            ..Requests::default()
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pods(ready: &[bool]) -> Vec<Pod> {
        let born = Time::from_secs(0);
        let pod = |(index, ready): (usize, &bool)| {
            let ready = Ready {
                status: Some(*ready),
                since: born,
            };
            pod(format!("pod-{index}"), &["app".to_owned()], &[], born, ready)
        };
        ready.iter().enumerate().map(pod).collect()
    }

    #[test]
    fn the_remainder_of_a_load_is_not_lost() {
        let samples = distribute(1001, &pods(&[true, false, true]), Time::from_secs(15));
        let values: Vec<i64> = samples.values().map(|sample| sample.value).collect();
        assert_eq!(values, [501, 0, 500]);
    }
}
