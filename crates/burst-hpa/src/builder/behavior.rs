//! How fast the replicas may change.

use std::time::Duration;

use k8s_openapi::api::autoscaling::v2::{HPAScalingPolicy, HPAScalingRules};

use super::BuildError;
use crate::behavior::{PolicyType, SelectPolicy};
use crate::path::Path;
use crate::quantity::Quantity;

/// The rules of one direction. A field that is not set stays unset.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ScalingRules {
    window: Option<Duration>,
    select: Option<SelectPolicy>,
    policies: Vec<Policy>,
    tolerance: Option<Quantity>,
}

/// A limit on the change in a period.
#[derive(Clone, Debug)]
pub struct Policy {
    policy_type: PolicyType,
    value: i32,
    period: Duration,
}

impl Policy {
    /// At most `count` pods in any `period` (1 s to 30 min).
    #[must_use]
    pub fn pods(count: i32, period: Duration) -> Self {
        Self {
            policy_type: PolicyType::Pods,
            value: count,
            period,
        }
    }

    /// At most `percent` of the replicas at the start of any `period` (1 s to 30 min).
    #[must_use]
    pub fn percent(percent: i32, period: Duration) -> Self {
        Self {
            policy_type: PolicyType::Percent,
            value: percent,
            period,
        }
    }
}

impl ScalingRules {
    /// Creates empty rules; Kubernetes fills in its defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Switches the direction off.
    pub fn disabled() -> Self {
        Self::new().select(SelectPolicy::Disabled)
    }

    /// Looks back this long (0 s to 1 h) before acting: up only as far as the lowest recommendation in it, down only as
    /// far as the highest.
    pub fn window(mut self, window: Duration) -> Self {
        self.window = Some(window);
        self
    }

    /// Which of several policies counts.
    pub fn select(mut self, select: SelectPolicy) -> Self {
        self.select = Some(select);
        self
    }

    /// Adds a policy.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policies.push(policy);
        self
    }

    /// How far a metric may be off its target before the controller acts: 0.05 is 5 %. Kubernetes' default is 10 %.
    pub fn tolerance(mut self, tolerance: Quantity) -> Self {
        self.tolerance = Some(tolerance);
        self
    }

    pub(super) fn written(&self, path: &Path<'_>, errors: &mut Vec<BuildError>) -> HPAScalingRules {
        let window = path.field("stabilizationWindowSeconds");
        let policies = path.field("policies");
        let written: Vec<_> = (self.policies.iter().enumerate())
            .map(|(index, policy)| policy.written(&policies.item(index), errors))
            .collect();
        HPAScalingRules {
            policies: (!written.is_empty()).then_some(written),
            select_policy: self.select.map(|select| select.to_string()),
            stabilization_window_seconds: self.window.map(|duration| seconds(duration, &window, errors)),
            tolerance: self.tolerance.clone().map(Into::into),
        }
    }
}

impl Policy {
    fn written(&self, path: &Path<'_>, errors: &mut Vec<BuildError>) -> HPAScalingPolicy {
        HPAScalingPolicy {
            type_: self.policy_type.to_string(),
            value: self.value,
            period_seconds: seconds(self.period, &path.field("periodSeconds"), errors),
        }
    }
}

/// A duration beyond an `i32` becomes the longest one, which is refused as too long.
fn seconds(duration: Duration, path: &Path<'_>, errors: &mut Vec<BuildError>) -> i32 {
    if duration.subsec_nanos() != 0 {
        errors.push(BuildError::NotWholeSeconds {
            field: path.to_string(),
            duration,
        });
    }
    i32::try_from(duration.as_secs()).unwrap_or(i32::MAX)
}
