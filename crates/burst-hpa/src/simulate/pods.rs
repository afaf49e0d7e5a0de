//! Groups pods by whether the controller uses their samples.

use super::observation::{Phase, Pod, Sample, Samples};
use super::options::ControllerOptions;
use super::time::Time;

/// The pods of a selector, grouped by how the controller uses their samples.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Groups<'a> {
    /// The number of pods with a sample that counts.
    pub(super) ready: usize,
    /// Pods that are pending, or whose cpu sample may show their start-up rather than their load.
    pub(super) unready: Vec<&'a str>,
    /// Pods without a sample.
    pub(super) missing: Vec<&'a str>,
    /// Pods that are being deleted or have failed.
    pub(super) ignored: Vec<&'a str>,
}

/// Groups `pods` by their state and `samples`; `cpu` is true if these are samples of cpu usage.
pub(super) fn group<'a>(
    pods: &'a [Pod],
    samples: &Samples,
    cpu: bool,
    options: &ControllerOptions,
    now: Time,
) -> Groups<'a> {
    let mut groups = Groups::default();
    for pod in pods {
        let name = pod.name.as_str();
        if pod.deleted || pod.phase == Phase::Failed {
            groups.ignored.push(name);
        } else if pod.phase == Phase::Pending {
            groups.unready.push(name);
        } else if let Some(sample) = samples.get(name) {
            if cpu && starting(pod, sample, options, now) {
                groups.unready.push(name);
            } else {
                groups.ready += 1;
            }
        } else {
            groups.missing.push(name);
        }
    }
    groups
}

/// Returns whether a pod's cpu sample may show its start-up rather than its load.
fn starting(pod: &Pod, sample: &Sample, options: &ControllerOptions, now: Time) -> bool {
    let (Some(ready), Some(started)) = (pod.ready, pod.started) else {
        return true;
    };
    let refuses = ready.status == Some(false);
    if started + options.cpu_initialization_period > now {
        refuses || sample.at < ready.since + sample.window
    } else {
        refuses && started + options.initial_readiness_delay > ready.since
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::observation::Ready;
    use super::super::requests::Requests;
    use super::*;

    const NOW: Time = Time::from_secs(10_000);

    fn ago(seconds: u64) -> Time {
        NOW - Duration::from_secs(seconds)
    }

    fn pod(phase: Phase, started: u64, ready: bool, since: u64) -> Pod {
        Pod {
            name: "web-1".to_owned(),
            phase,
            ready: Some(Ready {
                status: Some(ready),
                since: ago(since),
            }),
            started: Some(ago(started)),
            deleted: false,
            requests: Requests::default(),
        }
    }

    fn grouped(pod: Pod, sample: Option<u64>, cpu: bool) -> &'static str {
        let sample = sample.map(|at| Sample {
            value: 1,
            at: ago(at),
            window: Duration::from_secs(30),
        });
        let samples = sample.map(|sample| (pod.name.clone(), sample)).into_iter().collect();
        let pods = [pod];
        match group(&pods, &samples, cpu, &ControllerOptions::default(), NOW) {
            Groups { ready: 1, .. } => "ready",
            groups if !groups.unready.is_empty() => "unready",
            groups if !groups.missing.is_empty() => "missing",
            _ => "ignored",
        }
    }

    #[test]
    fn a_terminating_or_failed_pod_is_ignored() {
        let leaving = Pod {
            deleted: true,
            ..pod(Phase::Running, 900, true, 890)
        };
        assert_eq!(grouped(leaving, Some(0), true), "ignored");
        assert_eq!(grouped(pod(Phase::Failed, 900, true, 890), Some(0), true), "ignored");
    }

    #[test]
    fn a_pending_pod_is_unready_with_or_without_a_sample() {
        assert_eq!(grouped(pod(Phase::Pending, 900, false, 890), None, false), "unready");
        assert_eq!(grouped(pod(Phase::Pending, 900, false, 890), Some(0), false), "unready");
    }

    #[test]
    fn new_pods_need_a_full_window_of_readiness() {
        assert_eq!(grouped(pod(Phase::Running, 100, true, 30), Some(0), true), "ready");
        assert_eq!(grouped(pod(Phase::Running, 100, true, 29), Some(0), true), "unready");
        assert_eq!(grouped(pod(Phase::Running, 100, true, 29), Some(0), false), "ready");
        assert_eq!(grouped(pod(Phase::Running, 299, false, 250), Some(0), true), "unready");
    }

    #[test]
    fn old_pods_are_unready_only_if_they_never_were_ready() {
        assert_eq!(grouped(pod(Phase::Running, 300, false, 271), Some(0), true), "unready");
        assert_eq!(grouped(pod(Phase::Running, 300, false, 270), Some(0), true), "ready");
    }

    #[test]
    fn cpu_without_a_condition_or_a_start_does_not_count() {
        let unconditioned = Pod {
            ready: None,
            ..pod(Phase::Running, 900, true, 890)
        };
        let unstarted = Pod {
            started: None,
            ..pod(Phase::Running, 900, true, 890)
        };
        assert_eq!(grouped(unconditioned.clone(), Some(0), true), "unready");
        assert_eq!(grouped(unstarted, Some(0), true), "unready");
        assert_eq!(grouped(unconditioned, Some(0), false), "ready");
    }

    #[test]
    fn a_finished_pod_without_a_sample_is_missing() {
        assert_eq!(grouped(pod(Phase::Succeeded, 900, false, 10), None, true), "missing");
    }
}
