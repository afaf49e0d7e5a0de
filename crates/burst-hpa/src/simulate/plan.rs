//! The spec of an autoscaler, converted once into the numbers that the controller computes with.

use std::time::Duration;

use super::failure::MetricError;
use crate::behavior::SelectPolicy;

/// A defaulted `autoscaling/v2` spec in the units of the controller. All metric values are in thousandths (milli).
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub(super) namespace: String,
    pub(super) min_replicas: i32,
    pub(super) max_replicas: i32,
    pub(super) metrics: Vec<MetricSource>,
    /// None differs from all defaults: without `behavior`, the controller uses other limits.
    pub(super) behavior: Option<Behavior>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Behavior {
    pub(super) scale_up: Rules,
    pub(super) scale_down: Rules,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rules {
    /// None only for scale-down, where the setting of the controller applies.
    pub(super) window: Option<Duration>,
    pub(super) select: SelectPolicy,
    pub(super) policies: Vec<Policy>,
    pub(super) tolerance: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Policy {
    pub(super) allowed_change: AllowedChange,
    pub(super) period: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AllowedChange {
    Pods(i32),
    Percent(i32),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum MetricSource {
    Resource {
        resource: String,
        target: ResourceTargetValue,
    },
    ContainerResource {
        resource: String,
        container: String,
        target: ResourceTargetValue,
    },
    Pods {
        metric: Series,
        average: i64,
    },
    Object {
        object: Object,
        metric: Series,
        target: Option<SingleValueTarget>,
    },
    External {
        metric: Series,
        target: SingleValueTarget,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResourceTargetValue {
    Utilization(i32),
    AverageValue(i64),
}

/// The target of a metric with one value for all pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SingleValueTarget {
    Value(i64),
    AverageValue(i64),
}

/// `metric.name` and `metric.selector`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Series {
    pub(super) name: String,
    /// The selector as Go prints it, for the messages.
    pub(super) selector: String,
    /// Why the controller cannot use the selector, if it cannot. kube-apiserver does not check the selector.
    pub(super) fault: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) kind: String,
    pub(super) name: String,
}

impl Series {
    pub(super) fn usable(&self) -> Result<(), MetricError> {
        self.fault
            .as_ref()
            .map_or(Ok(()), |fault| Err(MetricError::Selector(fault.clone())))
    }
}

impl Plan {
    /// Returns whether a metric exists without pods. Scaling from and to zero needs one.
    pub(super) fn measures_without_pods(&self) -> bool {
        self.metrics
            .iter()
            .any(|metric| matches!(metric, MetricSource::Object { .. } | MetricSource::External { .. }))
    }
}
