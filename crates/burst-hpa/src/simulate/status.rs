//! The status that the controller writes, with the messages of its conditions.

use super::conditions::{Conditions, SimulatedCondition};
use super::failure::MetricFailure;
use super::metric::{MetricValue, Proposal};
use super::observation::ScaleSelector;
use super::report::Decision;
use super::time::Time;
use crate::status::ConditionType::{AbleToScale, ScaledToZero, ScalingActive, ScalingLimited};
use crate::status::{ConditionType, Reason};

/// A `HorizontalPodAutoscalerStatus`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimulatedStatus {
    /// `currentReplicas`: the target's `spec.replicas` as the sync found it.
    pub current_replicas: i32,
    /// `desiredReplicas`.
    pub desired_replicas: i32,
    /// `lastScaleTime`.
    pub last_scale_time: Option<Time>,
    /// `currentMetrics`: empty, or one entry for each metric of the spec. An entry is None if the metric failed.
    pub current_metrics: Vec<Option<MetricValue>>,
    /// `conditions`.
    pub conditions: Conditions,
}

impl SimulatedStatus {
    pub(super) fn scale_read(&mut self, error: Option<&str>, now: Time) {
        match error {
            None => self.able(
                Reason::SucceededGetScale,
                "the HPA controller was able to get the target's current scale",
                now,
            ),
            Some(error) => {
                let message = format!("the HPA controller was unable to get the target's current scale: {error}");
                self.set(AbleToScale, false, Reason::FailedGetScale, message, now);
            }
        }
    }

    pub(super) fn scale_written(&mut self, result: Result<i32, &str>, now: Time) {
        match result {
            Ok(to) => {
                self.able(
                    Reason::SucceededRescale,
                    &format!("the HPA controller was able to update the target scale to {to}"),
                    now,
                );
                self.last_scale_time = Some(now);
            }
            Err(error) => {
                let message = format!("the HPA controller was unable to update the target scale: {error}");
                self.set(AbleToScale, false, Reason::FailedUpdateScale, message, now);
            }
        }
    }

    pub(super) fn disabled(&mut self, now: Time) {
        let message = "scaling is disabled since the replica count of the target is zero";
        self.set(ScalingActive, false, Reason::ScalingDisabled, message.to_owned(), now);
    }

    /// Sets the condition if the controller cannot use the selector. Returns whether it set the condition.
    pub(super) fn unselected(&mut self, selector: &ScaleSelector, now: Time) -> bool {
        let (reason, message) = match selector {
            ScaleSelector::Valid => return false,
            ScaleSelector::Missing => (
                Reason::InvalidSelector,
                "the HPA target's scale is missing a selector".to_owned(),
            ),
            ScaleSelector::Malformed { error } => (
                Reason::InvalidSelector,
                format!("couldn't convert selector into a corresponding internal selector object: {error}"),
            ),
            ScaleSelector::Ambiguous { selector, autoscalers } => (
                Reason::AmbiguousSelector,
                format!(
                    "pods by selector {selector} are controlled by multiple HPAs: [{}]",
                    autoscalers.join(" ")
                ),
            ),
        };
        self.set(ScalingActive, false, reason, message, now);
        true
    }

    pub(super) fn undecided(&mut self, failure: &MetricFailure, now: Time) {
        let message = format!("the HPA was unable to compute the replica count: {failure}");
        self.set(ScalingActive, false, failure.reason.clone(), message, now);
    }

    pub(super) fn decided(&mut self, decision: &Decision, now: Time) {
        let Decision { metric, .. } = decision;
        let message = format!("the HPA was able to successfully calculate a replica count from {metric}");
        self.set(ScalingActive, true, Reason::ValidMetricFound, message, now);
        match decision.stabilization {
            Some(stabilization) => self.able(stabilization.reason(), stabilization.message(), now),
            None => self.able(Reason::ReadyForNewScale, "recommended size matches current size", now),
        }
        let (reason, message) = match decision.limit {
            Some(limit) => (limit.reason(), limit.message()),
            None => (
                Reason::DesiredWithinRange,
                "the desired count is within the acceptable range",
            ),
        };
        self.set(
            ScalingLimited,
            decision.limit.is_some(),
            reason,
            message.to_owned(),
            now,
        );
    }

    /// Records whether the controller itself scaled the target to zero.
    pub(super) fn zeroed(&mut self, by_controller: bool, now: Time) {
        let (reason, message) = match by_controller {
            true => (Reason::ScaledToZero, "the HPA controller scaled the workload to zero"),
            false => (
                Reason::NotScaledToZero,
                "the HPA controller did not scale the workload to zero",
            ),
        };
        self.set(ScaledToZero, by_controller, reason, message.to_owned(), now);
    }

    /// Returns whether the controller itself scaled the target to zero.
    pub(super) fn is_zeroed(&self) -> bool {
        self.conditions
            .find(&ScaledToZero)
            .is_some_and(|condition| condition.status)
    }

    pub(super) fn measured(&mut self, current: i32, desired: i32, proposals: &[Result<Proposal, MetricFailure>]) {
        let shown = |proposal: &Result<Proposal, _>| proposal.as_ref().ok().map(|proposal| proposal.current);
        self.current_replicas = current;
        self.desired_replicas = desired;
        self.current_metrics = proposals.iter().map(shown).collect();
    }

    fn able(&mut self, reason: Reason, message: &str, now: Time) {
        self.set(AbleToScale, true, reason, message.to_owned(), now);
    }

    fn set(&mut self, kind: ConditionType, status: bool, reason: Reason, message: String, now: Time) {
        self.conditions.set(SimulatedCondition {
            kind,
            status,
            reason,
            message,
            since: now,
        });
    }
}
