//! The controller's names for metrics in events and conditions.

use super::failure::{MetricError, MetricFailure};
use super::plan::{MetricSource, ResourceTargetValue, Series, SingleValueTarget};
use crate::status::Reason;

/// Returns the name of the metric in the condition `ScalingActive` and in the rescale event.
pub(super) fn metric(metric: &MetricSource) -> String {
    match metric {
        MetricSource::Resource {
            resource,
            target: ResourceTargetValue::Utilization(_),
        } => {
            format!("{resource} resource utilization (percentage of request)")
        }
        MetricSource::ContainerResource {
            resource,
            target: ResourceTargetValue::Utilization(_),
            ..
        } => {
            format!("{resource} container resource utilization (percentage of request)")
        }
        MetricSource::Resource { resource, .. } | MetricSource::ContainerResource { resource, .. } => {
            format!("{resource} resource")
        }
        MetricSource::Pods { metric, .. } => format!("pods metric {}", metric.name),
        MetricSource::Object {
            object,
            metric,
            target: Some(SingleValueTarget::Value(_)) | None,
        } => {
            format!("{} metric {}", object.kind, metric.name)
        }
        // The controller also calls other metrics external.
        MetricSource::Object {
            metric: Series { name, selector, .. },
            ..
        }
        | MetricSource::External {
            metric: Series { name, selector, .. },
            ..
        } => {
            format!("external metric {name}({selector})")
        }
    }
}

/// Returns the failure of `metric` with this error.
pub(super) fn failure(metric: &MetricSource, error: MetricError) -> MetricFailure {
    MetricFailure {
        reason: reason(metric),
        error,
        effort: effort(metric),
    }
}

fn reason(metric: &MetricSource) -> Reason {
    match metric {
        MetricSource::Resource { .. } => Reason::FailedGetResourceMetric,
        MetricSource::ContainerResource { .. } => Reason::FailedGetContainerResourceMetric,
        MetricSource::Pods { .. } => Reason::FailedGetPodsMetric,
        MetricSource::Object { .. } => Reason::FailedGetObjectMetric,
        MetricSource::External { .. } => Reason::FailedGetExternalMetric,
    }
}

fn effort(metric: &MetricSource) -> String {
    let (MetricSource::Resource { resource, target } | MetricSource::ContainerResource { resource, target, .. }) =
        metric
    else {
        return String::new();
    };
    match target {
        ResourceTargetValue::Utilization(_) => format!("failed to get {resource} utilization: "),
        ResourceTargetValue::AverageValue(_) => format!("failed to get {resource} usage: "),
    }
}
