//! From the highest proposal to a number of replicas: first stabilized, then limited.

use super::limits;
use super::memory::Memory;
use super::metric::Proposal;
use super::options::Options;
use super::plan::Plan;
use super::report::Decision;
use super::stabilize::{self, Stabilization};
use super::time::Time;

/// Decides on the replicas of a target that has `current`, and records the recommendation.
pub(super) fn decide(
    plan: &Plan,
    options: &Options,
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
    // The bounds are not enforced on the way up from zero, so a minimum that has grown since then is.
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
    /// The reason that the rescale event gives. It looks at what was recommended, not at what came of it, and may be
    /// empty when an older recommendation is the cause.
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
