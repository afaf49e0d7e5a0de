//! Overflow: which share of the requests for a Service goes to another cluster, and which requests these are.
//!
//! The state of a Service outlives a read of the cluster. It is kept only while requests of the Service overflow.

mod controller;

use crate::config::OverflowConfig;
use crate::hash;
use crate::load::Load;
use crate::signals::Signals;
use crate::time::Time;
use controller::Kept;
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::time::Duration;

/// The request header that the route to the other cluster matches.
pub const HEADER: &str = "x-burst-overflow";

/// The Services that may overflow at the same time. The memory of a VM never shrinks.
const MAX_SERVICES: usize = 10_000;

/// After so many times the ramp without a request, a Service starts anew.
const FORGET_AFTER: u32 = 5;

/// What is known of a Service and of its peers.
#[derive(Clone, Copy, Debug)]
pub struct Observation {
    /// The current and maximum load.
    pub load: Load,
    /// The demand and the state of the HPA.
    pub signals: Signals,
    /// The replicas that the same Service can still add in other clusters. Nothing overflows to peers without headroom. `None` if
    /// no peers are configured, and then other clusters get requests.
    pub peer_headroom: Option<u64>,
}

/// The part of the requests that overflows, in parts of 2⁶⁴.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u64);

impl Share {
    /// No request.
    pub const NONE: Self = Self(0);

    fn new(kept: Kept) -> Self {
        // A float above the range becomes the largest number.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "from 0 to 1, scaled"
        )]
        let share = (kept.overflowing() * 2_f64.powi(64)) as u64;
        Self(share)
    }

    /// Returns whether no request overflows.
    #[must_use]
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }

    /// Returns whether the request with that key overflows. A key that does keeps overflowing while the share grows.
    #[must_use]
    pub fn includes(self, key: &[u8]) -> bool {
        hash::of_words(key) < self.0
    }
}

/// The shares of all Services with requests that overflow.
#[derive(Debug, Default)]
pub(super) struct Shares {
    services: HashMap<Box<str>, Tracked, RandomState>,
}

/// A Service with requests that overflow.
#[derive(Clone, Copy, Debug)]
struct Tracked {
    kept: Kept,
    at: Time,
}

impl Shares {
    /// Returns whether no request overflows.
    pub(super) fn is_empty(&self) -> bool {
        self.services.is_empty()
    }

    /// Forgets all shares: nothing overflows on old numbers.
    pub(super) fn clear(&mut self) {
        self.services.clear();
    }

    /// Moves the share of a Service towards what its numbers ask for, by the time since the last call, and returns it. All
    /// VMs with the same numbers and the same times come to the same share.
    pub(super) fn update(&mut self, config: &OverflowConfig, service: &str, seen: &Observation, now: Time) -> Share {
        let forget_after = config.ramp.saturating_mul(FORGET_AFTER);
        let is_recent = |tracked: &Tracked| now.since(tracked.at) <= forget_after;
        let known = self.services.get(service).copied().filter(is_recent);
        let (before, elapsed) = known.map_or((Kept::ALL, Duration::ZERO), |known| (known.kept, now.since(known.at)));
        let Some(kept) = before.next(config, seen, elapsed) else {
            self.services.remove(service);
            return Share::NONE;
        };
        let tracked = Tracked { kept, at: now };
        if let Some(known) = self.services.get_mut(service) {
            *known = tracked;
            return Share::new(kept);
        }
        if self.services.len() >= MAX_SERVICES {
            self.services.retain(|_, tracked| is_recent(tracked));
        }
        if self.services.len() >= MAX_SERVICES {
            return Share::NONE;
        }
        self.services.insert(service.into(), tracked);
        Share::new(kept)
    }
}

#[cfg(test)]
mod tests;
