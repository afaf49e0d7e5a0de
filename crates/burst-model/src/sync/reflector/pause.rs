//! The pause after a failure, and what ends it early.

use super::{MIN_WINDOW, Reflector, ReflectorState};
use crate::sync::backoff::{Backoff, INITIAL_BACKOFF, PROBE_INTERVAL, scaled_by_chance};
use crate::sync::interval::TICK_TOLERANCE;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// After the server recovered, the lists of a proxy send their requests within this time. All lists of a fleet in one
/// second would overload the server.
const RECOVERY_SPREAD: Duration = Duration::from_secs(2);

/// The pause of a failing list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailurePause {
    /// The number of consecutive failures.
    pub failures: u32,
    /// When the pause began.
    pub since: Time,
    /// When the next request is due.
    pub due: Time,
    /// The end of the server's `Retry-After`. Nothing ends the pause earlier.
    pub not_before: Time,
}

/// Waits after a watch that began at `started_at`, as short as it was: a server that ends watches early gets no more
/// requests than one for each [`MIN_WINDOW`].
pub(super) fn waiting_after(started_at: Time, now: Time) -> ReflectorState {
    ReflectorState::Waiting {
        since: now,
        due: now.max(started_at.min(now).after(MIN_WINDOW.saturating_sub(TICK_TOLERANCE))),
    }
}

impl Reflector {
    /// Continues the pause of another VM.
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

    /// The current pause; `None` if the last request succeeded, or one is under way.
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

    /// The pause that a successor continues. A request that is under way is lost with this VM, so it is due again at once,
    /// and the successor still knows that the list fails.
    #[must_use]
    pub fn pause_for_successor(&self) -> Option<FailurePause> {
        let under_way = FailurePause {
            failures: self.backoff.failures(),
            since: self.requested_at,
            due: self.requested_at,
            not_before: self.not_before,
        };
        self.pause().or(self.is_failing().then_some(under_way))
    }

    /// Returns whether the last request failed.
    #[must_use]
    pub fn is_failing(&self) -> bool {
        !self.backoff.is_clear()
    }

    /// When the current or the last request was sent.
    #[must_use]
    pub fn requested_at(&self) -> Time {
        self.requested_at
    }

    /// Returns whether the server's `Retry-After` is over.
    #[must_use]
    pub fn may_request(&self, now: Time) -> bool {
        self.not_before <= now
    }

    /// Ends the pause after a failure as soon as `Retry-After` allows. If a request is under way and fails, no pause
    /// follows.
    pub fn end_pause(&mut self, now: Time) {
        match self.state {
            ReflectorState::Waiting { since, due } if self.is_failing() => {
                let due = due.min(self.not_before.max(now));
                self.state = ReflectorState::Waiting { since, due };
            }
            ReflectorState::Waiting { .. } => {}
            ReflectorState::Listing(_) | ReflectorState::Watching { .. } | ReflectorState::Streaming(..) => {
                self.retry_at_once = self.is_failing();
            }
        }
    }

    /// When the list probes the server at the latest, while no list works; `None` if this one works, or a request is under
    /// way. It counts from the last request: a callout that waits for its timeout is a probe too.
    pub(in crate::sync) fn next_probe(&self) -> Option<Time> {
        let FailurePause { since, .. } = self.pause()?;
        // Spreads the proxies over the whole interval. A wider range would bring most of them into its first half.
        let probe =
            PROBE_INTERVAL.saturating_sub(scaled_by_chance(PROBE_INTERVAL / 4, self.stagger.unwrap_or_default()));
        Some(self.requested_at.after(probe).max(since.after(INITIAL_BACKOFF)))
    }

    /// Ends the pause within two seconds: the server has recovered.
    pub(in crate::sync) fn end_pause_spread(&mut self, now: Time) {
        self.end_pause(now.after(scaled_by_chance(RECOVERY_SPREAD, self.stagger.unwrap_or_default())));
    }

    pub(super) fn clear_failures(&mut self) {
        self.backoff.reset();
        (self.has_expired, self.retry_at_once) = (false, false);
        self.streams.is_interrupted = false;
    }
}
