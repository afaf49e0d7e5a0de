//! How large a share overflows. Requests that overflow no longer show in the demand, so a share that is computed from the
//! demand alone swings between 0 and the excess. So this is an integral controller, as the HPA controller is: it multiplies
//! the part that is kept by wanted ÷ measured demand, a little at a time.
//!
//! The wanted demand rises from the mark to the maximum as the share grows. So the demand itself tells how large the share
//! is, and a VM that starts later comes to the same share as the others.

use super::Observation;
use crate::config::OverflowConfig;
use crate::load::Percent;
use crate::signals::ScalingState;
use std::time::Duration;

/// At least this part is kept, so that the demand still shows how large the load is.
const LEAST_KEPT: f64 = 0.05;
/// Above this nothing overflows. A part that only approaches 1 would never reach it.
const MOST_KEPT: f64 = 0.999;
/// One ramp changes the kept part by at most this factor, however wrong the demand is.
const MAX_FACTOR: f64 = 4.0;

/// The part of the requests that is kept: above 0 and at most 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Kept(f64);

impl Kept {
    /// All requests.
    pub(super) const ALL: Self = Self(1.0);

    /// The part that overflows.
    pub(super) fn overflowing(self) -> f64 {
        1.0 - self.0
    }

    /// The part after that time. `None` if all requests are kept, and may be.
    pub(super) fn next(self, config: &OverflowConfig, seen: &Observation, elapsed: Duration) -> Option<Self> {
        if seen.peer_headroom == Some(0) {
            return None;
        }
        let factor = self.factor(config, seen)?;
        let weight = 1.0 - (-elapsed.as_secs_f64() / config.ramp.as_secs_f64()).exp();
        let next = (self.0 * factor.powf(weight)).clamp(LEAST_KEPT, 1.0);
        (next < MOST_KEPT || factor < 1.0).then_some(Self(next))
    }

    /// By what the kept part has to be multiplied. `None` if the numbers do not tell.
    fn factor(self, config: &OverflowConfig, seen: &Observation) -> Option<f64> {
        let max = f64::from(seen.load.max);
        let factor = match (seen.signals.demand, seen.signals.state) {
            (Some(demand), _) => {
                // The demand is rounded up to whole replicas, so the mark is, too.
                let mark = part_of(max, config.from).ceil();
                let demand = f64::from(demand.max(1));
                if config.dry_run {
                    // The demand contains what would overflow.
                    self.towards(mark / demand)
                } else {
                    (mark + (max - mark) * self.overflowing()) / demand
                }
            }
            // The current replicas stay at the maximum, however few requests there are.
            (None, Some(ScalingState::Blocked | ScalingState::Fixed | ScalingState::Unknown)) => return None,
            // They never exceed the maximum, so they do not tell how large the excess is.
            (None, _) => self.towards(part_of(max, config.from) / f64::from(seen.load.current.max(1))),
        };
        Some(factor.clamp(1.0 / MAX_FACTOR, MAX_FACTOR))
    }

    /// By what to multiply to come to that part.
    fn towards(self, part: f64) -> f64 {
        part.clamp(LEAST_KEPT, 1.0) / self.0
    }
}

fn part_of(max: f64, percent: Percent) -> f64 {
    max * f64::from(percent.get()) / 100.0
}
