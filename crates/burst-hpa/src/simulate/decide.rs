//! Turns the highest proposal into a number of replicas: stabilization comes first, then the limits.

use super::limits;
use super::memory::Memory;
use super::metric::Proposal;
use super::options::ControllerOptions;
use super::plan::Plan;
use super::report::Decision;
use super::stabilize::{self, Stabilization};
use super::time::Time;

/// Decides on the replicas of a target that has `current` replicas, and records the recommendation.
pub(super) fn decide(
    plan: &Plan,
    options: &ControllerOptions,
    memory: &mut Memory,
    current: i32,
    highest: &Proposal,
    now: Time,
) -> Decision {
    let recommended = highest.replicas.max(0);
    let past = &mut memory.recommendations;
    let (stabilized, (limited, limit)) = match &plan.behavior {
        None => {
            let stabilized = stabilize::without_behavior(past, recommended, options.downscale_stabilization, now);
            (stabilized, limits::without_behavior(plan, current, stabilized))
        }
        Some(behavior) => {
            let stabilized = stabilize::with_behavior(past, recommended, current, behavior, options, now);
            (
                stabilized,
                limits::with_behavior(plan, behavior, memory, current, stabilized, now),
            )
        }
    };
    // A sync that scales up from zero skips the check of the bounds, so the minimum is applied here.
    let desired = if current == 0 {
        limited.max(plan.min_replicas)
    } else {
        limited
    };
    let up = plan.behavior.is_some() && recommended >= current;
    let stabilization = match stabilized == recommended {
        true => None,
        false if up => Some(Stabilization::Up),
        false => Some(Stabilization::Down),
    };
    Decision {
        recommended,
        metric: highest.metric.clone(),
        stabilized,
        stabilization,
        desired,
        limit,
    }
}

impl Decision {
    /// Returns the reason for the rescale event. The reason depends on the recommendation, not on the resulting replicas.
    /// It can be empty when an older recommendation causes the rescale.
    pub(super) fn reason(&self, current: i32) -> String {
        if self.recommended > current {
            format!("{} above target", self.metric)
        } else if self.recommended < current {
            "All metrics below target".to_owned()
        } else if current == 0 && self.desired > 0 {
            "Current number of replicas below Spec.MinReplicas".to_owned()
        } else {
            String::new()
        }
    }
}
