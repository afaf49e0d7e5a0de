//! Reads the status that the controller reports. The values are those of
//! <https://github.com/kubernetes/api/blob/v0.36.3/autoscaling/v2/types.go> and of the controller's conditions.
//!
//! It only reads. The API server discards the status of an object that is created or updated; the controller alone writes
//! it, by the `status` subresource, every 15 s.

use k8s_openapi::api::autoscaling::v2::{
    HorizontalPodAutoscaler, HorizontalPodAutoscalerCondition, HorizontalPodAutoscalerStatus, MetricStatus,
};
use k8s_openapi::jiff::Timestamp;

use crate::metric::MetricSource;
use crate::quantity::Quantity;
use crate::string_enum::open;

open! {
    /// The type of a condition.
    ConditionType {
        /// Whether the controller can read and set the replicas, and whether it is holding back scaling on purpose.
        AbleToScale,
        /// Whether the controller can compute the desired replicas.
        ScalingActive,
        /// Whether a limit changed the desired replicas.
        ScalingLimited,
        /// Whether the controller scaled the target to zero itself. Since Kubernetes 1.36.
        ScaledToZero,
    }
}

open! {
    /// The status of a condition.
    ConditionStatus {
        /// True.
        True,
        /// False.
        False,
        /// Unknown.
        Unknown,
    }
}

open! {
    /// The reason of a condition.
    Reason {
        /// The number of replicas could be read.
        SucceededGetScale,
        /// The target is missing, or has no scale subresource.
        FailedGetScale,
        /// Ready for a new scale.
        ReadyForNewScale,
        /// A higher recommendation within the window holds scaling down back.
        ScaleDownStabilized,
        /// A lower recommendation within the window holds scaling up back.
        ScaleUpStabilized,
        /// The number of replicas was just set.
        SucceededRescale,
        /// Setting it failed.
        FailedUpdateScale,
        /// At least one metric gave a number.
        ValidMetricFound,
        /// Someone else scaled the target to zero, which disables the autoscaler.
        ScalingDisabled,
        /// The target's selector cannot be read.
        InvalidSelector,
        /// Pods of the target belong to another autoscaler's target too.
        AmbiguousSelector,
        /// A `Resource` metric has no value.
        FailedGetResourceMetric,
        /// A `ContainerResource` metric has no value.
        FailedGetContainerResourceMetric,
        /// A `Pods` metric has no value.
        FailedGetPodsMetric,
        /// An `Object` metric has no value.
        FailedGetObjectMetric,
        /// An `External` metric has no value.
        FailedGetExternalMetric,
        /// A metric's type is unknown to the controller.
        InvalidMetricSourceType,
        /// The desired replicas are within all limits.
        DesiredWithinRange,
        /// The recommendation was above `maxReplicas`.
        TooManyReplicas,
        /// The recommendation was below `minReplicas`; normal for a target at its minimum.
        TooFewReplicas,
        /// A scale-up policy limited the change.
        ScaleUpLimit,
        /// A scale-down policy limited the change.
        ScaleDownLimit,
        /// The controller scaled to zero.
        ScaledToZero,
        /// It did not.
        NotScaledToZero,
    }
}

/// The status that the controller last wrote.
#[derive(Clone, Debug, PartialEq)]
pub struct HpaStatus {
    /// The generation of the spec that it observed.
    pub observed_generation: Option<i64>,
    /// Replicas the target had; 0 where the controller wrote nothing.
    pub current_replicas: i32,
    /// Replicas that it requested.
    pub desired_replicas: i32,
    /// When it last changed that number.
    pub last_scale_time: Option<Timestamp>,
    /// In the controller's order.
    pub conditions: Vec<HpaCondition>,
    /// One for each metric of the spec that gave a value, in order.
    pub current_metrics: Vec<CurrentMetric>,
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HpaCondition {
    /// The type.
    pub condition_type: ConditionType,
    /// The status.
    pub status: ConditionStatus,
    /// Why.
    pub reason: Reason,
    /// For a person.
    pub message: String,
    /// When the status last changed.
    pub last_transition_time: Option<Timestamp>,
}

/// The value of one metric at the last sync.
#[derive(Clone, Debug, PartialEq)]
pub struct CurrentMetric {
    /// Where the value came from.
    pub source: MetricSource,
    /// The value itself.
    pub value: Option<Quantity>,
    /// The value divided by the pods.
    pub average_value: Option<Quantity>,
    /// Percent of the request.
    pub average_utilization: Option<i32>,
}

impl HpaStatus {
    /// `None` before the controller's first sync: an absent or an empty status.
    #[must_use]
    pub fn of(hpa: &HorizontalPodAutoscaler) -> Option<Self> {
        let status = hpa
            .status
            .as_ref()
            .filter(|status| **status != HorizontalPodAutoscalerStatus::default())?;
        Some(Self {
            observed_generation: status.observed_generation,
            current_replicas: status.current_replicas.unwrap_or(0),
            desired_replicas: status.desired_replicas,
            last_scale_time: status.last_scale_time.as_ref().map(|time| time.0),
            conditions: status.conditions.iter().flatten().map(HpaCondition::from).collect(),
            current_metrics: status
                .current_metrics
                .iter()
                .flatten()
                .filter_map(CurrentMetric::of)
                .collect(),
        })
    }

    /// The condition of that type.
    #[must_use]
    pub fn condition(&self, condition_type: &ConditionType) -> Option<&HpaCondition> {
        self.conditions
            .iter()
            .find(|condition| condition.condition_type == *condition_type)
    }
}

impl From<&HorizontalPodAutoscalerCondition> for HpaCondition {
    fn from(condition: &HorizontalPodAutoscalerCondition) -> Self {
        Self {
            condition_type: condition.type_.as_str().into(),
            status: condition.status.as_str().into(),
            reason: condition.reason.as_deref().unwrap_or_default().into(),
            message: condition.message.clone().unwrap_or_default(),
            last_transition_time: condition.last_transition_time.as_ref().map(|time| time.0),
        }
    }
}

impl CurrentMetric {
    /// `None` for the empty entry the controller leaves where a metric failed.
    fn of(metric: &MetricStatus) -> Option<Self> {
        let (source, current) = MetricSource::of_status(metric)?;
        Some(Self {
            source,
            value: current.value.as_ref().and_then(|value| value.try_into().ok()),
            average_value: current.average_value.as_ref().and_then(|value| value.try_into().ok()),
            average_utilization: current.average_utilization,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Node, decode};

    #[test]
    fn known_conditions_are_typed_and_unknown_ones_kept() {
        let text = r#"{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","status":{
            "currentReplicas":3,"desiredReplicas":4,"lastScaleTime":"2026-11-21T05:00:00Z",
            "currentMetrics":[{"type":""},{"type":"Resource","resource":{"name":"cpu","current":{"averageUtilization":71,"averageValue":"142m"}}}],
            "conditions":[{"type":"AbleToScale","status":"True","reason":"SucceededRescale","message":"m"},
                          {"type":"Tomorrows","status":"Maybe","reason":"BecauseOfIt"}]}}"#;
        let status = HpaStatus::of(&decode(&Node::from_json(text).unwrap()).unwrap()).unwrap();
        assert_eq!((status.current_replicas, status.desired_replicas), (3, 4));
        assert_eq!(
            status.condition(&ConditionType::AbleToScale).unwrap().reason,
            Reason::SucceededRescale
        );
        assert_eq!(
            status.conditions.last().unwrap().condition_type,
            ConditionType::Other("Tomorrows".to_owned())
        );
        let [cpu] = status.current_metrics.as_slice() else {
            panic!("{:?}", status.current_metrics)
        };
        assert_eq!(cpu.source, MetricSource::Resource { name: "cpu".to_owned() });
        assert_eq!(
            (
                cpu.average_utilization,
                cpu.average_value.as_ref().unwrap().milli_value()
            ),
            (Some(71), 142)
        );
    }

    #[test]
    fn an_object_before_its_first_sync_has_no_status() {
        let text = r#"{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","status":{"desiredReplicas":0,"currentMetrics":null}}"#;
        assert_eq!(HpaStatus::of(&decode(&Node::from_json(text).unwrap()).unwrap()), None);
    }
}
