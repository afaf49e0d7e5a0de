//! The limits of one sync: the bounds of the spec and the rate of change.

use std::time::Duration;

use super::int::int32;
use super::memory::Memory;
use super::plan::{AllowedChange, Behavior, Plan, Policy, Rules};
use super::time::Time;
use crate::behavior::SelectPolicy;
use crate::status::Reason;

/// A limit that changed the recommended replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// `maxReplicas`.
    MaxReplicas,
    /// `minReplicas`.
    MinReplicas,
    /// The scale-up policies. Without `behavior`, the limit is twice the current size or four, whichever is more.
    ScaleUpRate,
    /// The scale-down policies.
    ScaleDownRate,
}

impl Limit {
    pub(super) fn reason(self) -> Reason {
        match self {
            Self::MaxReplicas => Reason::TooManyReplicas,
            Self::MinReplicas => Reason::TooFewReplicas,
            Self::ScaleUpRate => Reason::ScaleUpLimit,
            Self::ScaleDownRate => Reason::ScaleDownLimit,
        }
    }

    pub(super) fn message(self) -> &'static str {
        match self {
            Self::MaxReplicas => "the desired replica count is more than the maximum replica count",
            Self::MinReplicas => "the desired replica count is less than the minimum replica count",
            Self::ScaleUpRate => "the desired replica count is increasing faster than the maximum scale rate",
            Self::ScaleDownRate => "the desired replica count is decreasing faster than the maximum scale rate",
        }
    }
}

/// The replicas, and the limit that reduced the change, if any.
type Limited = (i32, Option<Limit>);

/// Limits the replicas of a spec without `behavior`.
pub(super) fn without_behavior(plan: &Plan, current: i32, desired: i32) -> Limited {
    if desired < plan.min_replicas {
        return (plan.min_replicas, Some(Limit::MinReplicas));
    }
    let rate = int32((2.0 * f64::from(current)).max(4.0));
    at_most(desired, plan.max_replicas, rate)
}

/// Limits the replicas of a spec with `behavior`. Only the limits in the direction of `desired` apply.
pub(super) fn with_behavior(
    plan: &Plan,
    behavior: &Behavior,
    memory: &Memory,
    current: i32,
    desired: i32,
    now: Time,
) -> Limited {
    if desired > current {
        let rate = Direction::Up
            .reach(&behavior.scale_up, memory, current, now)
            .max(current);
        at_most(desired, plan.max_replicas, rate)
    } else if desired < current {
        let rate = Direction::Down
            .reach(&behavior.scale_down, memory, current, now)
            .min(current);
        at_least(desired, plan.min_replicas, rate)
    } else {
        (desired, None)
    }
}

fn at_most(desired: i32, max: i32, rate: i32) -> Limited {
    let (most, limit) = if max > rate {
        (rate, Limit::ScaleUpRate)
    } else {
        (max, Limit::MaxReplicas)
    };
    if desired > most {
        (most, Some(limit))
    } else {
        (desired, None)
    }
}

fn at_least(desired: i32, min: i32, rate: i32) -> Limited {
    let (least, limit) = if min < rate {
        (rate, Limit::ScaleDownRate)
    } else {
        (min, Limit::MinReplicas)
    };
    if desired < least {
        (least, Some(limit))
    } else {
        (desired, None)
    }
}

#[derive(Clone, Copy)]
enum Direction {
    Up,
    Down,
}

impl Direction {
    /// Returns the size to which the policies of this direction let `current` change, after the earlier changes in each period.
    fn reach(self, rules: &Rules, memory: &Memory, current: i32, now: Time) -> i32 {
        let reaches = rules.policies.iter().map(|policy| {
            let start = now - policy.period;
            let before = current
                .wrapping_sub(memory.added.since(start))
                .wrapping_add(memory.removed.since(start));
            self.allowed_size(*policy, before)
        });
        match (rules.select, self) {
            (SelectPolicy::Disabled, _) => current,
            (SelectPolicy::Max, Self::Up) | (SelectPolicy::Min, Self::Down) => reaches.max().unwrap_or(i32::MIN),
            (SelectPolicy::Min, Self::Up) | (SelectPolicy::Max, Self::Down) => reaches.min().unwrap_or(i32::MAX),
        }
    }

    /// A percentage rounds up for a scale-up, so that it always adds a pod. It rounds towards zero for a scale-down, so that
    /// it always removes a pod.
    fn allowed_size(self, policy: Policy, before: i32) -> i32 {
        let size = f64::from(before);
        match (self, policy.allowed_change) {
            (Self::Up, AllowedChange::Pods(value)) => before.wrapping_add(value),
            (Self::Up, AllowedChange::Percent(value)) => int32((size * (1.0 + f64::from(value) / 100.0)).ceil()),
            (Self::Down, AllowedChange::Pods(value)) => before.wrapping_sub(value),
            (Self::Down, AllowedChange::Percent(value)) => int32(size * (1.0 - f64::from(value) / 100.0)),
        }
    }
}

/// Returns the longest period of the policies. The controller remembers changes for this time.
pub(super) fn longest_period(rules: &Rules) -> Duration {
    rules
        .policies
        .iter()
        .map(|policy| policy.period)
        .max()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_secs(1000);

    fn plan(max_replicas: i32) -> Plan {
        Plan {
            namespace: "shop".to_owned(),
            min_replicas: 2,
            max_replicas,
            metrics: vec![],
            behavior: None,
        }
    }

    fn rules(select: SelectPolicy, allowed_changes: &[AllowedChange]) -> Rules {
        let period = Duration::from_secs(60);
        let policies = allowed_changes
            .iter()
            .map(|allowed_change| Policy {
                allowed_change: *allowed_change,
                period,
            })
            .collect();
        Rules {
            window: None,
            select,
            policies,
            tolerance: None,
        }
    }

    fn limited(
        select: SelectPolicy,
        allowed_changes: &[AllowedChange],
        memory: &Memory,
        current: i32,
        desired: i32,
    ) -> Limited {
        let behavior = Behavior {
            scale_up: rules(select, allowed_changes),
            scale_down: rules(select, allowed_changes),
        };
        with_behavior(&plan(100), &behavior, memory, current, desired, NOW)
    }

    #[test]
    fn without_behavior_a_sync_doubles_or_goes_to_four() {
        assert_eq!(without_behavior(&plan(100), 1, 9), (4, Some(Limit::ScaleUpRate)));
        assert_eq!(without_behavior(&plan(100), 3, 9), (6, Some(Limit::ScaleUpRate)));
        assert_eq!(without_behavior(&plan(5), 3, 9), (5, Some(Limit::MaxReplicas)));
        assert_eq!(without_behavior(&plan(5), 3, 1), (2, Some(Limit::MinReplicas)));
        assert_eq!(without_behavior(&plan(5), 3, 4), (4, None));
    }

    #[test]
    fn select_policy_picks_the_larger_or_the_smaller_change() {
        let allowed_changes = [AllowedChange::Pods(4), AllowedChange::Percent(100)];
        let memory = Memory::default();
        assert_eq!(
            limited(SelectPolicy::Max, &allowed_changes, &memory, 3, 90),
            (7, Some(Limit::ScaleUpRate))
        );
        assert_eq!(
            limited(SelectPolicy::Min, &allowed_changes, &memory, 3, 90),
            (6, Some(Limit::ScaleUpRate))
        );
        assert_eq!(limited(SelectPolicy::Max, &allowed_changes, &memory, 8, 2), (2, None));
        assert_eq!(
            limited(SelectPolicy::Min, &allowed_changes, &memory, 8, 2),
            (4, Some(Limit::ScaleDownRate))
        );
        assert_eq!(
            limited(SelectPolicy::Disabled, &allowed_changes, &memory, 8, 2),
            (8, Some(Limit::ScaleDownRate))
        );
    }

    #[test]
    fn a_percentage_always_moves_one_pod() {
        let memory = Memory::default();
        assert_eq!(
            limited(SelectPolicy::Max, &[AllowedChange::Percent(1)], &memory, 5, 90),
            (6, Some(Limit::ScaleUpRate))
        );
        assert_eq!(
            limited(SelectPolicy::Max, &[AllowedChange::Percent(1)], &memory, 5, 2),
            (4, Some(Limit::ScaleDownRate))
        );
    }

    #[test]
    fn changes_within_the_period_are_deducted() {
        let mut memory = Memory::default();
        memory
            .added
            .add(3, NOW - Duration::from_secs(59), NOW - Duration::from_secs(60));
        assert_eq!(
            limited(SelectPolicy::Max, &[AllowedChange::Pods(4)], &memory, 8, 90),
            (9, Some(Limit::ScaleUpRate))
        );
        memory
            .added
            .add(3, NOW - Duration::from_secs(30), NOW - Duration::from_secs(60));
        assert_eq!(
            limited(SelectPolicy::Max, &[AllowedChange::Pods(4)], &memory, 8, 90),
            (8, Some(Limit::ScaleUpRate))
        );
    }

    #[test]
    fn an_overspent_limit_never_reverses_the_direction() {
        let mut memory = Memory::default();
        memory.removed.add(9, NOW - Duration::from_secs(30), Time::DISTANT_PAST);
        assert_eq!(
            limited(SelectPolicy::Max, &[AllowedChange::Pods(4)], &memory, 8, 2),
            (8, Some(Limit::ScaleDownRate))
        );
    }
}
