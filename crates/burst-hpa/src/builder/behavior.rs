//! Scaling rules: how fast the number of replicas may change.

use std::time::Duration;

use k8s_openapi::api::autoscaling::v2::{HPAScalingPolicy, HPAScalingRules};

use super::BuildError;
use crate::behavior::{PolicyType, SelectPolicy};
use crate::field_path::FieldPath;
use crate::quantity::Quantity;

/// The scaling rules of one direction. Fields that you do not set stay unset.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ScalingRules {
    window: Option<Duration>,
    select: Option<SelectPolicy>,
    policies: Vec<ScalingPolicy>,
    tolerance: Option<Quantity>,
}

/// A limit on how much the number of replicas may change in a period.
#[derive(Clone, Debug)]
pub struct ScalingPolicy {
    policy_type: PolicyType,
    value: i32,
    period: Duration,
}

impl ScalingPolicy {
    /// Allows a change of at most `count` pods in any `period` (1 s to 30 min).
    #[must_use]
    pub fn pods(count: i32, period: Duration) -> Self {
        Self {
            policy_type: PolicyType::Pods,
            value: count,
            period,
        }
    }

    /// Allows a change of at most `percent` of the replicas at the start of any `period` (1 s to 30 min).
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
    /// Creates empty rules. Kubernetes fills in its defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Disables scaling in this direction.
    pub fn disabled() -> Self {
        Self::new().select(SelectPolicy::Disabled)
    }

    /// Sets the stabilization window (0 s to 1 h). The controller scales up only to the lowest recommendation in the
    /// window, and down only to the highest.
    pub fn window(mut self, window: Duration) -> Self {
        self.window = Some(window);
        self
    }

    /// Sets which of several policies applies.
    pub fn select(mut self, select: SelectPolicy) -> Self {
        self.select = Some(select);
        self
    }

    /// Adds a policy.
    pub fn policy(mut self, policy: ScalingPolicy) -> Self {
        self.policies.push(policy);
        self
    }

    /// Sets how far a metric may differ from its target before the controller acts: 0.05 is 5 %. The default of
    /// Kubernetes is 10 %.
    pub fn tolerance(mut self, tolerance: Quantity) -> Self {
        self.tolerance = Some(tolerance);
        self
    }

    pub(super) fn written(&self, path: &FieldPath<'_>, errors: &mut Vec<BuildError>) -> HPAScalingRules {
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

impl ScalingPolicy {
    fn written(&self, path: &FieldPath<'_>, errors: &mut Vec<BuildError>) -> HPAScalingPolicy {
        HPAScalingPolicy {
            type_: self.policy_type.to_string(),
            value: self.value,
            period_seconds: seconds(self.period, &path.field("periodSeconds"), errors),
        }
    }
}

/// A duration that does not fit an `i32` becomes `i32::MAX`, which validation refuses as too long.
fn seconds(duration: Duration, path: &FieldPath<'_>, errors: &mut Vec<BuildError>) -> i32 {
    if duration.subsec_nanos() != 0 {
        errors.push(BuildError::NotWholeSeconds {
            field: path.to_string(),
            duration,
        });
    }
    i32::try_from(duration.as_secs()).unwrap_or(i32::MAX)
}
