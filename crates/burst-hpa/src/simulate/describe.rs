//! The controller's names for metrics in events and conditions.

use super::failure::{MetricError, MetricFailure};
use super::plan::{Metric, ResourceTarget, Series, SingleValueTarget};
use crate::status::Reason;

/// Returns the name of the metric in the condition `ScalingActive` and in the rescale event.
pub(super) fn metric(metric: &Metric) -> String {
    match metric {
        Metric::Resource {
            resource,
            target: ResourceTarget::Utilization(_),
        } => {
            format!("{resource} resource utilization (percentage of request)")
        }
        Metric::ContainerResource {
            resource,
            target: ResourceTarget::Utilization(_),
            ..
        } => {
            format!("{resource} container resource utilization (percentage of request)")
        }
        Metric::Resource { resource, .. } | Metric::ContainerResource { resource, .. } => {
            format!("{resource} resource")
        }
        Metric::Pods { metric, .. } => format!("pods metric {}", metric.name),
        Metric::Object {
            object,
            metric,
            target: Some(SingleValueTarget::Value(_)) | None,
        } => {
            format!("{} metric {}", object.kind, metric.name)
        }
        // The controller also calls other metrics external.
        Metric::Object {
            metric: Series { name, selector, .. },
            ..
        }
        | Metric::External {
            metric: Series { name, selector, .. },
            ..
        } => {
            format!("external metric {name}({selector})")
        }
    }
}

/// Returns the failure of `metric` with this error.
pub(super) fn failure(metric: &Metric, error: MetricError) -> MetricFailure {
    MetricFailure {
        reason: reason(metric),
        error,
        effort: effort(metric),
    }
}

fn reason(metric: &Metric) -> Reason {
    match metric {
        Metric::Resource { .. } => Reason::FailedGetResourceMetric,
        Metric::ContainerResource { .. } => Reason::FailedGetContainerResourceMetric,
        Metric::Pods { .. } => Reason::FailedGetPodsMetric,
        Metric::Object { .. } => Reason::FailedGetObjectMetric,
        Metric::External { .. } => Reason::FailedGetExternalMetric,
    }
}

fn effort(metric: &Metric) -> String {
    let (Metric::Resource { resource, target } | Metric::ContainerResource { resource, target, .. }) = metric else {
        return String::new();
    };
    match target {
        ResourceTarget::Utilization(_) => format!("failed to get {resource} utilization: "),
        ResourceTarget::AverageValue(_) => format!("failed to get {resource} usage: "),
    }
}
