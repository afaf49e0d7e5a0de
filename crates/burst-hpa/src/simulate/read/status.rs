//! The status that a controller left in the cluster.

use crate::simulate::conditions::SimulatedCondition;
use crate::simulate::metric::MetricValue;
use crate::simulate::status::SimulatedStatus;
use crate::simulate::time::Time;
use crate::status::{ConditionStatus, CurrentMetric, HpaCondition as ReadCondition, HpaStatus as ReadStatus};

impl From<&ReadStatus> for SimulatedStatus {
    /// Reads the status that a controller continues from; times count from the Unix epoch.
    fn from(status: &ReadStatus) -> Self {
        Self {
            current_replicas: status.current_replicas,
            desired_replicas: status.desired_replicas,
            last_scale_time: status
                .last_scale_time
                .map(|time| Time::from_millis(time.as_millisecond())),
            current_metrics: status
                .current_metrics
                .iter()
                .map(|metric| Some(value(metric)))
                .collect(),
            conditions: status.conditions.iter().map(condition).collect(),
        }
    }
}

fn condition(condition: &ReadCondition) -> SimulatedCondition {
    let since = condition.last_transition_time;
    SimulatedCondition {
        kind: condition.condition_type.clone(),
        status: condition.status == ConditionStatus::True,
        reason: condition.reason.clone(),
        message: condition.message.clone(),
        since: since.map_or(Time::DISTANT_PAST, |time| Time::from_millis(time.as_millisecond())),
    }
}

fn value(metric: &CurrentMetric) -> MetricValue {
    MetricValue {
        value: metric.value.as_ref().map(crate::Quantity::milli_value),
        average_value: metric.average_value.as_ref().map(crate::Quantity::milli_value),
        average_utilization: metric.average_utilization,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Node, decode};

    #[test]
    fn the_controllers_part_of_a_status_is_read() {
        let text = r#"{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","status":{
            "currentReplicas":0,"desiredReplicas":0,"lastScaleTime":"1970-01-01T00:00:05Z",
            "currentMetrics":[{"type":"External","external":{"metric":{"name":"m"},"current":{"value":"1500m"}}}],
            "conditions":[{"type":"ScaledToZero","status":"True","reason":"ScaledToZero","message":"m"}]}}"#;
        let hpa = decode(&Node::from_json(text).unwrap()).unwrap();
        let status = SimulatedStatus::from(&ReadStatus::of(&hpa).unwrap());
        assert!(status.is_zeroed());
        assert_eq!(status.last_scale_time, Some(Time::from_secs(5)));
        assert_eq!(
            status.current_metrics,
            [Some(MetricValue {
                value: Some(1500),
                ..MetricValue::default()
            })]
        );
    }
}
