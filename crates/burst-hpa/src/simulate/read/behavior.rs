//! `spec.behavior`, with both directions filled in as the API server does it.

use std::time::Duration;

use k8s_openapi::api::autoscaling::v2::{HPAScalingPolicy, HPAScalingRules, HorizontalPodAutoscalerBehavior};

use super::error::ReadError;
use super::quantity;
use crate::simulate::plan::{Behavior, Policy, Rules, Select, Step};

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

fn select(policy: Option<&str>, at: &str) -> Result<Select, ReadError> {
    match policy {
        Some("Max") => Ok(Select::Max),
        Some("Min") => Ok(Select::Min),
        Some("Disabled") => Ok(Select::Disabled),
        Some(other) => Err(ReadError::not_allowed(
            format!("{at}.selectPolicy"),
            &other,
            "Disabled, Max or Min",
        )),
        None => Err(ReadError::missing(format!("{at}.selectPolicy"))),
    }
}

fn policy(policy: &HPAScalingPolicy, at: &str) -> Result<Policy, ReadError> {
    let step = match policy.type_.as_str() {
        "Pods" => Step::Pods(policy.value),
        "Percent" => Step::Percent(policy.value),
        other => return Err(ReadError::not_allowed(format!("{at}.type"), &other, "Percent or Pods")),
    };
    Ok(Policy {
        step,
        period: seconds(policy.period_seconds, format!("{at}.periodSeconds"))?,
    })
}

fn seconds(seconds: i32, field: String) -> Result<Duration, ReadError> {
    match u64::try_from(seconds) {
        Ok(seconds) => Ok(Duration::from_secs(seconds)),
        Err(_) => Err(ReadError::not_allowed(field, &seconds, "zero or more seconds")),
    }
}
