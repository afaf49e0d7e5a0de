//! The conditions of an autoscaler's status.

use super::time::Time;
use crate::status::{ConditionType, Reason};

/// A `HorizontalPodAutoscalerCondition`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatedCondition {
    /// `type`.
    pub kind: ConditionType,
    /// `status`; the controller never writes `Unknown`.
    pub status: bool,
    /// `reason`.
    pub reason: Reason,
    /// `message`.
    pub message: String,
    /// `lastTransitionTime`: when the status last changed.
    pub since: Time,
}

/// At most one condition of each type, in the order of their first appearance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions(Vec<SimulatedCondition>);

impl Conditions {
    /// Returns the condition of this type.
    #[must_use]
    pub fn find(&self, kind: &ConditionType) -> Option<&SimulatedCondition> {
        self.0.iter().find(|condition| condition.kind == *kind)
    }

    /// Returns all conditions in the order of the status.
    pub fn iter(&self) -> impl Iterator<Item = &SimulatedCondition> {
        self.0.iter()
    }

    /// Replaces the condition of the same type. Keeps the transition time if the status stays the same.
    pub(super) fn set(&mut self, mut condition: SimulatedCondition) {
        match self.0.iter_mut().find(|old| old.kind == condition.kind) {
            Some(old) => {
                if old.status == condition.status {
                    condition.since = old.since;
                }
                *old = condition;
            }
            None => self.0.push(condition),
        }
    }

    pub(super) fn remove(&mut self, kind: &ConditionType) {
        self.0.retain(|condition| condition.kind != *kind);
    }
}

impl FromIterator<SimulatedCondition> for Conditions {
    /// Keeps the last of several conditions of one type.
    fn from_iter<I: IntoIterator<Item = SimulatedCondition>>(conditions: I) -> Self {
        let mut all = Self::default();
        conditions.into_iter().for_each(|condition| all.set(condition));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn active(status: bool, reason: Reason, since: i64) -> SimulatedCondition {
        let kind = ConditionType::ScalingActive;
        SimulatedCondition {
            kind,
            status,
            reason,
            message: String::new(),
            since: Time::from_secs(since),
        }
    }

    #[test]
    fn the_transition_time_changes_only_with_the_status() {
        let mut conditions = Conditions::default();
        conditions.set(active(false, Reason::FailedGetPodsMetric, 1));
        conditions.set(active(false, Reason::FailedGetObjectMetric, 2));
        assert_eq!(
            conditions.find(&ConditionType::ScalingActive),
            Some(&active(false, Reason::FailedGetObjectMetric, 1))
        );
        conditions.set(active(true, Reason::ValidMetricFound, 3));
        assert_eq!(
            conditions.find(&ConditionType::ScalingActive),
            Some(&active(true, Reason::ValidMetricFound, 3))
        );
        assert_eq!(conditions.iter().count(), 1);
    }
}
