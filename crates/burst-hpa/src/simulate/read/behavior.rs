//! `spec.behavior`, with both directions filled in as the API server does it.

use std::time::Duration;

use k8s_openapi::api::autoscaling::v2::{HPAScalingPolicy, HPAScalingRules, HorizontalPodAutoscalerBehavior};

use super::error::ReadError;
use super::quantity;
use crate::behavior::{PolicyType, SelectPolicy};
use crate::simulate::plan::{AllowedChange, Behavior, Policy, Rules};

const UP: &str = "spec.behavior.scaleUp";
const DOWN: &str = "spec.behavior.scaleDown";

pub(super) fn both(behavior: &HorizontalPodAutoscalerBehavior) -> Result<Behavior, ReadError> {
    let scale_up = rules(behavior.scale_up.as_ref(), UP)?;
    if scale_up.window.is_none() {
        return Err(ReadError::missing(format!("{UP}.stabilizationWindowSeconds")));
    }
    Ok(Behavior {
        scale_up,
        scale_down: rules(behavior.scale_down.as_ref(), DOWN)?,
    })
}

fn rules(rules: Option<&HPAScalingRules>, at: &str) -> Result<Rules, ReadError> {
    let rules = rules.ok_or_else(|| ReadError::missing(at))?;
    let window = rules.stabilization_window_seconds;
    let written = rules.policies.as_deref().unwrap_or_default();
    if written.is_empty() {
        return Err(ReadError::missing(format!("{at}.policies")));
    }
    let policies = written
        .iter()
        .enumerate()
        .map(|(index, policy)| self::policy(policy, &format!("{at}.policies[{index}]")));
    Ok(Rules {
        window: window
            .map(|window| seconds(window, format!("{at}.stabilizationWindowSeconds")))
            .transpose()?,
        select: select(rules.select_policy.as_deref(), at)?,
        policies: policies.collect::<Result<_, _>>()?,
        tolerance: rules
            .tolerance
            .as_ref()
            .map(|tolerance| quantity::approximate(tolerance, &format!("{at}.tolerance")))
            .transpose()?,
    })
}

fn select(written: Option<&str>, at: &str) -> Result<SelectPolicy, ReadError> {
    let field = format!("{at}.selectPolicy");
    let text = written.ok_or_else(|| ReadError::missing(field.as_str()))?;
    text.parse().map_err(ReadError::unknown_value(field))
}

fn policy(policy: &HPAScalingPolicy, at: &str) -> Result<Policy, ReadError> {
    let step = match policy
        .type_
        .parse()
        .map_err(ReadError::unknown_value(format!("{at}.type")))?
    {
        PolicyType::Pods => AllowedChange::Pods(policy.value),
        PolicyType::Percent => AllowedChange::Percent(policy.value),
    };
    Ok(Policy {
        allowed_change: step,
        period: seconds(policy.period_seconds, format!("{at}.periodSeconds"))?,
    })
}

fn seconds(seconds: i32, field: String) -> Result<Duration, ReadError> {
    match u64::try_from(seconds) {
        Ok(seconds) => Ok(Duration::from_secs(seconds)),
        Err(_) => Err(ReadError::Negative { field, seconds }),
    }
}
