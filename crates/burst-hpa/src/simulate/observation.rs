//! The state of the cluster that the controller reads in one sync.

use std::collections::BTreeMap;
use std::time::Duration;

use super::requests::Requests;
use super::time::Time;

/// Everything that one sync reads, and the result of its one write.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The target's scale subresource, or why it could not be read.
    pub scale: Result<Scale, String>,
    /// The pods that the scale's selector matches.
    pub pods: Vec<Pod>,
    /// One reading for each metric of the spec, in its order.
    pub readings: Vec<Result<Reading, String>>,
    /// The result of the update of the scale, if there is one.
    pub write: Result<(), String>,
}

/// The target's scale subresource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    /// `spec.replicas`: the current desired number of pods.
    pub spec_replicas: i32,
    /// `status.replicas`: the current number of pods.
    pub status_replicas: i32,
    /// `status.selector`.
    pub selector: ScaleSelector,
}

/// The state of `scale.status.selector`, which selects the target's pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScaleSelector {
    /// The selector is valid, and no other autoscaler selects its pods.
    Valid,
    /// The scale has no selector.
    Missing,
    /// The selector cannot be parsed.
    Malformed {
        /// The parser's message.
        error: String,
    },
    /// Other autoscalers select some of the same pods.
    Ambiguous {
        /// The selector as written in the scale.
        selector: String,
        /// `namespace/name` of every autoscaler that selects these pods, including this one.
        autoscalers: Vec<String>,
    },
}

/// The answer of a metrics API, in thousandths (milli).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Resource, ContainerResource and Pods metrics: a sample for each pod that has one, by pod name.
    Pods(Samples),
    /// Object metrics: a single value.
    Object(i64),
    /// External metrics: one value for each series that the selector matches.
    External(Vec<i64>),
}

/// Samples by pod name.
pub type Samples = BTreeMap<String, Sample>;

/// One pod's sample of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The value in thousandths: millicores for cpu, thousandths of a byte for memory.
    pub value: i64,
    /// The end of the sample's time window.
    pub at: Time,
    /// The length of the sample's time window.
    pub window: Duration,
}

/// The part of a pod that the controller reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Pod {
    /// `metadata.name`.
    pub name: String,
    /// `status.phase`.
    pub phase: Phase,
    /// The `Ready` condition, if there is one.
    pub ready: Option<Ready>,
    /// `status.startTime`.
    pub started: Option<Time>,
    /// Whether `metadata.deletionTimestamp` is set.
    pub deleted: bool,
    /// The requests of the pod.
    pub requests: Requests,
}

/// `status.phase` of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The cluster has accepted the pod, but not every container is set up.
    Pending,
    /// The pod is bound to a node, and every container is created.
    Running,
    /// Every container has ended successfully.
    Succeeded,
    /// Every container has ended, and at least one has failed.
    Failed,
    /// The node cannot be reached.
    Unknown,
}

/// A pod's `Ready` condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// Whether the pod is ready; None is Kubernetes' `Unknown`.
    pub status: Option<bool>,
    /// `lastTransitionTime`.
    pub since: Time,
}

impl Observation {
    pub(super) fn samples(&self, index: usize) -> Result<&Samples, String> {
        self.reading(index, |reading| {
            if let Reading::Pods(samples) = reading {
                Some(samples)
            } else {
                None
            }
        })
    }

    pub(super) fn object(&self, index: usize) -> Result<i64, String> {
        self.reading(index, |reading| {
            if let Reading::Object(value) = reading {
                Some(*value)
            } else {
                None
            }
        })
    }

    pub(super) fn external(&self, index: usize) -> Result<&[i64], String> {
        self.reading(index, |reading| {
            if let Reading::External(series) = reading {
                Some(series.as_slice())
            } else {
                None
            }
        })
    }

    /// Returns the reading of the metric at `index`. A missing reading, or one of another source, counts as a failed request.
    fn reading<'a, T>(&'a self, index: usize, of_source: impl Fn(&'a Reading) -> Option<T>) -> Result<T, String> {
        match self.readings.get(index) {
            Some(Err(error)) => Err(error.clone()),
            Some(Ok(reading)) => of_source(reading).ok_or_else(|| "the reading is of another source".to_owned()),
            None => Err("there is no reading".to_owned()),
        }
    }
}

impl Pod {
    /// Returns whether the pod counts for an Object or External metric, that is, whether it is running and ready.
    pub(super) fn serves(&self) -> bool {
        self.phase == Phase::Running && self.ready.is_some_and(|ready| ready.status == Some(true))
    }
}
