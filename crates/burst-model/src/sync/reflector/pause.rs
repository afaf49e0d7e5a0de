//! How a list that fails is left alone, and when the server is asked all the same.

use super::{Reflector, ReflectorState};
use crate::sync::backoff::{Backoff, INITIAL_BACKOFF, PROBE_INTERVAL, scaled_by_chance};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// When a server is back, the lists of a proxy ask within this time: those of a whole fleet in one second would be too
/// much for it.
const RECOVERY_SPREAD: Duration = Duration::from_secs(2);

/// How a failing list is left alone for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailurePause {
    /// Failures in a row that led to it.
    pub failures: u32,
    /// When it began.
    pub since: Time,
    /// When the list is asked for again.
    pub due: Time,
    /// The server wishes to be left alone until then: nothing makes the pause shorter than that.
    pub not_before: Time,
}

impl Reflector {
    /// Leaves the API alone for as long as somebody else meant to.
    #[must_use]
    pub fn with_pause(mut self, pause: FailurePause) -> Self {
        let FailurePause {
            failures,
            since,
            due,
            not_before,
        } = pause;
        self.backoff = Backoff::with_failures(failures);
        self.state = ReflectorState::Waiting { since, due };
        (self.requested_at, self.not_before) = (since, not_before);
        self
    }

    /// How it waits after a failure; `None` where it did not fail, or does not wait.
    #[must_use]
    pub fn pause(&self) -> Option<FailurePause> {
        match self.state {
            ReflectorState::Waiting { since, due } if self.is_failing() => Some(FailurePause {
                failures: self.backoff.failures(),
                since,
                due,
                not_before: self.not_before,
            }),
            _ => None,
        }
    }

    /// Whether it failed since it was last read.
    #[must_use]
    pub fn is_failing(&self) -> bool {
        !self.backoff.is_clear()
    }

    /// When the request that is under way, or the last one, was sent.
    #[must_use]
    pub fn requested_at(&self) -> Time {
        self.requested_at
    }

    /// Whether a request may be sent then: the server may wish for none.
    #[must_use]
    pub fn may_request(&self, now: Time) -> bool {
        self.not_before <= now
    }

    /// Ends the pause after a failure, or has it end when the server's wish does; also one that is to come, where a
    /// request is under way that fails.
    pub fn end_pause(&mut self, now: Time) {
        match self.state {
            ReflectorState::Waiting { since, due } if self.is_failing() => {
                let due = due.min(self.not_before.max(now));
                self.state = ReflectorState::Waiting { since, due };
            }
            ReflectorState::Waiting { .. } => {}
            ReflectorState::Listing(_) | ReflectorState::Watching { .. } => self.retry_at_once = self.is_failing(),
        }
    }

    /// When the server is asked again at the latest, where nothing works; `None` where this works, or is under way. It
    /// counts from the last request: a callout that waits for its timeout asks as well.
    pub(in crate::sync) fn next_probe(&self) -> Option<Time> {
        let FailurePause { since, .. } = self.pause()?;
        // Proxies come one by one in the whole of that time. A wider choice would bring most of them in its first half.
        let probe =
            PROBE_INTERVAL.saturating_sub(scaled_by_chance(PROBE_INTERVAL / 4, self.stagger.unwrap_or_default()));
        Some(self.requested_at.after(probe).max(since.after(INITIAL_BACKOFF)))
    }

    /// Ends the pause, as the server is back.
    pub(in crate::sync) fn end_pause_spread(&mut self, now: Time) {
        self.end_pause(now.after(scaled_by_chance(RECOVERY_SPREAD, self.stagger.unwrap_or_default())));
    }

    pub(super) fn clear_failures(&mut self) {
        self.backoff.reset();
        (self.has_expired, self.retry_at_once) = (false, false);
    }
}
