//! Metric values that correspond to a load.

use std::collections::BTreeMap;

use burst_hpa::Quantity;
use fastrand::Rng;
use k8s_openapi::api::autoscaling::v2::{MetricSpec, MetricTarget};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Written;

use crate::random::{chance, pick, seconds};
use crate::trace::{Pod, Reading};

/// The metrics APIs of a trace, with their rates of faults.
pub(crate) struct MetricsApi {
    /// The probability that a metric cannot be read.
    pub failing: f64,
    /// The probability that a pod has no sample.
    pub missing: f64,
    /// The probability of a sample of an unknown pod.
    pub unknown_pods: f64,
    /// Values near the ends of their range.
    pub huge: bool,
    /// Samples end up to so many milliseconds before the sync.
    pub lag: i64,
}

/// The workload at one tick.
pub(crate) struct WorkloadState<'a> {
    pub pods: &'a [Pod],
    pub serving: usize,
    /// The replicas that the load needs.
    pub wanted: f64,
    pub status_replicas: i32,
    pub now: i64,
}

impl MetricsApi {
    pub(crate) fn read(&self, rng: &mut Rng, spec: &MetricSpec, workload: &WorkloadState<'_>) -> Reading {
        if chance(rng, self.failing) {
            return Reading::Error("the metrics server is having lunch".to_owned());
        }
        if let Some(source) = &spec.resource {
            return self.samples(rng, resource_level(&source.target), workload);
        }
        if let Some(source) = &spec.container_resource {
            return self.samples(rng, resource_level(&source.target), workload);
        }
        if let Some(source) = &spec.pods {
            return self.samples(rng, milli(source.target.average_value.as_ref()), workload);
        }
        if let Some(source) = &spec.object {
            return Reading::Object(self.single_value(rng, &source.target, workload));
        }
        let target = &spec.external.as_ref().unwrap().target;
        let single_value = self.single_value(rng, target, workload);
        Reading::External(match rng.u8(..10) {
            0 => vec![],
            1..4 => vec![single_value / 3, single_value - single_value / 3],
            4 if self.huge => vec![single_value, i64::MAX, -7],
            _ => vec![single_value],
        })
    }

    /// Samples whose sum needs `wanted` replicas at `level` each.
    fn samples(&self, rng: &mut Rng, level: f64, workload: &WorkloadState<'_>) -> Reading {
        let each = level * ratio(rng, workload.wanted / workload.serving.max(1) as f64);
        let even = chance(rng, 0.4);
        let window = pick(rng, &[10_000, 15_000, 30_000, 60_000]);
        let mut samples = BTreeMap::new();
        for pod in workload.pods {
            if chance(rng, self.missing) || (pod.phase != "Running" && chance(rng, 0.9)) {
                continue;
            }
            let value = if even { each } else { each * (0.7 + 0.6 * rng.f64()) };
            samples.insert(
                pod.name.clone(),
                (self.integer(rng, value), workload.now - seconds(rng, self.lag), window),
            );
        }
        if chance(rng, self.unknown_pods) {
            samples.insert("stranger-1".to_owned(), (self.integer(rng, each), workload.now, window));
        }
        Reading::Pods(samples)
    }

    fn single_value(&self, rng: &mut Rng, target: &MetricTarget, workload: &WorkloadState<'_>) -> i64 {
        if target.average_value.is_some() {
            let replicas = f64::from(workload.status_replicas.max(1));
            let ratio = ratio(rng, workload.wanted / replicas);
            return self.integer(rng, milli(target.average_value.as_ref()) * ratio * replicas);
        }
        let ratio = ratio(rng, workload.wanted / workload.serving.max(1) as f64);
        self.integer(rng, milli(target.value.as_ref()) * ratio)
    }

    #[expect(clippy::cast_possible_truncation, reason = "any integer near the value is fine")]
    fn integer(&self, rng: &mut Rng, value: f64) -> i64 {
        if self.huge && chance(rng, 0.1) {
            return pick(rng, &[i64::MAX, i64::MAX / 3, 1 << 53, -1, -50_000, i64::MIN / 2]);
        }
        value as i64
    }
}

/// The ratio, or sometimes a ratio at the edge of a tolerance.
fn ratio(rng: &mut Rng, ratio: f64) -> f64 {
    if chance(rng, 0.15) {
        return pick(rng, &[1.0, 0.9, 1.1, 0.95, 1.05, 0.99, 1.01, 1.333, 0.667, 0.0, 2.0]);
    }
    ratio
}

/// The value of a pod at its target, for a request of 150 milli.
fn resource_level(target: &MetricTarget) -> f64 {
    match target.average_utilization {
        Some(percent) => 150.0 * f64::from(percent) / 100.0,
        None => milli(target.average_value.as_ref()),
    }
}

fn milli(quantity: Option<&Written>) -> f64 {
    quantity.map_or(0.0, |written| Quantity::try_from(written).unwrap().milli_value() as f64)
}
