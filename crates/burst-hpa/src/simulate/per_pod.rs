//! Proposals from metrics with a sample for each pod: Resource, ContainerResource and Pods.

use super::failure::MetricError;
use super::int::int32;
use super::observation::{Pod, Samples};
use super::plan::ResourceTargetValue;
use super::pods::{Groups, group};
use super::sync_input::SyncInput;
use super::tolerance::Tolerance;
use super::usage_ratio::{UsageRatio, UsageTarget, Values};

/// A metric with a sample for each pod.
pub(super) struct PerPod<'a> {
    pub(super) target: ResourceTargetValue,
    /// The resource. None for a Pods metric.
    pub(super) resource: Option<&'a str>,
    pub(super) container: Option<&'a str>,
}

impl PerPod<'_> {
    /// Returns the replicas that would bring the metric to its target, and the current value of the metric.
    pub(super) fn propose(&self, input: &SyncInput<'_>, samples: &Samples) -> Result<(i32, UsageRatio), MetricError> {
        let pods = &input.seen.pods;
        if pods.is_empty() {
            return Err(MetricError::NoPods);
        }
        let groups = group(pods, samples, self.resource == Some("cpu"), input.options, input.now);
        let values = counted(samples, &groups);
        if values.is_empty() {
            return Err(MetricError::NoSamples);
        }
        let usage_target = UsageTarget::new(self.target, self.requests(pods)?);
        let measure = usage_target.read(&values).ok_or(MetricError::NoMatch)?;
        let current = Current {
            replicas: input.scale.spec_replicas,
            ratio: measure.ratio,
            tolerance: input.tolerance(),
        };
        let replicas = current.scaled(&usage_target, values, &groups)?;
        Ok((replicas, measure))
    }

    /// Returns the request of each pod. A utilization target needs the requests of all pods, including those that do not
    /// count.
    fn requests<'p>(&self, pods: &'p [Pod]) -> Result<Values<'p>, MetricError> {
        let (ResourceTargetValue::Utilization(_), Some(resource)) = (self.target, self.resource) else {
            return Ok(Values::new());
        };
        pods.iter()
            .map(|pod| {
                Ok((
                    pod.name.as_str(),
                    pod.requests.amount(resource, self.container, &pod.name)?,
                ))
            })
            .collect()
    }
}

/// The size of the workload.
struct Current {
    replicas: i32,
    ratio: f64,
    tolerance: Tolerance,
}

impl Current {
    fn scaled<'v>(
        &self,
        usage_target: &UsageTarget<'_>,
        mut values: Values<'v>,
        groups: &Groups<'v>,
    ) -> Result<i32, MetricError> {
        let unready_matter = !groups.unready.is_empty() && self.ratio > 1.0;
        if !unready_matter && groups.missing.is_empty() {
            let near = self.tolerance.covers(self.ratio);
            return Ok(if near {
                self.replicas
            } else {
                scaled(self.ratio, groups.ready)
            });
        }
        values.extend(assumed(usage_target, self.ratio, groups));
        let filled = usage_target.read(&values).ok_or(MetricError::NoMatch)?.ratio;
        if self.tolerance.covers(filled) || turned(self.ratio, filled) {
            return Ok(self.replicas);
        }
        let replicas = scaled(filled, values.len());
        let contradicts = (filled < 1.0 && replicas > self.replicas) || (filled > 1.0 && replicas < self.replicas);
        Ok(if contradicts { self.replicas } else { replicas })
    }
}

/// Returns the samples without those of pods that do not count. Keeps the samples of unknown pods.
fn counted<'a>(samples: &'a Samples, groups: &Groups<'a>) -> Values<'a> {
    let mut values: Values<'a> = samples
        .iter()
        .map(|(pod, sample)| (pod.as_str(), sample.value))
        .collect();
    for pod in groups.ignored.iter().chain(&groups.unready) {
        values.remove(pod);
    }
    values
}

/// Returns assumed values for the pods without a usable sample. The values dampen the change.
fn assumed<'a>(usage_target: &UsageTarget<'_>, ratio: f64, groups: &Groups<'a>) -> Values<'a> {
    let mut values = Values::new();
    if ratio < 1.0 {
        values.extend(groups.missing.iter().map(|pod| (*pod, usage_target.full(pod))));
    } else if ratio > 1.0 {
        values.extend(groups.missing.iter().chain(&groups.unready).map(|pod| (*pod, 0)));
    }
    values
}

fn turned(before: f64, after: f64) -> bool {
    (before < 1.0 && after > 1.0) || (before > 1.0 && after < 1.0)
}

fn scaled(ratio: f64, pods: usize) -> i32 {
    int32((ratio * pods as f64).ceil())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::observation::{Phase, Ready, Sample};
    use super::super::options::ControllerOptions;
    use super::super::requests::Requests;
    use super::super::time::Time;
    use super::*;

    const NOW: Time = Time::from_secs(10_000);

    fn pod(name: &str, phase: Phase) -> Pod {
        Pod {
            name: name.to_owned(),
            phase,
            ready: Some(Ready {
                status: Some(true),
                since: Time::from_secs(100),
            }),
            started: Some(Time::from_secs(90)),
            deleted: false,
            requests: Requests::default(),
        }
    }

    /// Returns the proposal for pods that request 100 millicores, with a target of 50 %. None is a pod without a sample.
    fn proposal(usage: &[Option<i64>], pending: usize) -> i32 {
        let names: Vec<_> = (0..usage.len() + pending).map(|n| format!("web-{n}")).collect();
        let phase = |n| {
            if n < usage.len() {
                Phase::Running
            } else {
                Phase::Pending
            }
        };
        let pods: Vec<_> = names.iter().enumerate().map(|(n, name)| pod(name, phase(n))).collect();
        let sample = |value| Sample {
            value,
            at: NOW,
            window: Duration::from_secs(30),
        };
        let sampled = names
            .iter()
            .zip(usage)
            .filter_map(|(name, value)| Some((name.clone(), sample((*value)?))));
        let samples: Samples = sampled.collect();
        let groups = group(&pods, &samples, true, &ControllerOptions::default(), NOW);
        let requests = pods.iter().map(|pod| (pod.name.as_str(), 100)).collect();
        let usage_target = UsageTarget::new(ResourceTargetValue::Utilization(50), requests);
        let values = counted(&samples, &groups);
        let ratio = usage_target.read(&values).unwrap().ratio;
        let replicas = i32::try_from(pods.len()).unwrap();
        let current = Current {
            replicas,
            ratio,
            tolerance: Tolerance { down: 0.1, up: 0.1 },
        };
        current.scaled(&usage_target, values, &groups).unwrap()
    }

    #[test]
    fn the_ratio_scales_the_pods_that_count() {
        assert_eq!(proposal(&[Some(75), Some(75)], 0), 3);
        assert_eq!(proposal(&[Some(20), Some(20)], 0), 1);
        assert_eq!(proposal(&[Some(55), Some(54)], 0), 2, "within a tenth of the target");
    }

    #[test]
    fn pending_pods_do_not_hold_back_a_scale_down() {
        assert_eq!(proposal(&[Some(20), Some(20)], 2), 1);
    }

    #[test]
    fn pending_pods_count_as_idle_on_a_scale_up() {
        assert_eq!(proposal(&[Some(100), Some(100)], 1), 4);
        assert_eq!(
            proposal(&[Some(75), Some(75)], 1),
            3,
            "100 % of two pods is 50 % of three"
        );
    }

    #[test]
    fn missing_pods_count_as_full_on_a_scale_down_and_as_idle_on_a_scale_up() {
        assert_eq!(
            proposal(&[Some(10), Some(10), None], 0),
            3,
            "40 % is beyond the tolerance, yet 0.8 × 3 = 2.4"
        );
        assert_eq!(
            proposal(&[Some(1), Some(1), Some(1), Some(1), None], 0),
            2,
            "one in five alone keeps two"
        );
        assert_eq!(proposal(&[Some(120), Some(120), None], 0), 5);
        assert_eq!(
            proposal(&[Some(60), Some(60), None], 0),
            3,
            "idle it turns the direction, so nothing happens"
        );
    }
}
