//! The long polls of a spoke: how long the hub may hold one back, and when the next one follows.

use crate::config::Config;
use crate::config::duration::DurationText;
use crate::sync::backoff::Backoff;
use crate::time::Time;
use std::time::Duration;

/// Shorter than the 15 s after which Envoy's routes time out by default: there may be another proxy between spoke and hub.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// The least time between the beginnings of two long polls, for a hub whose Services change all the time.
pub(super) const MIN_INTERVAL: Duration = Duration::from_millis(500);

/// How long the hub may hold a response back. Each response renews the age of the snapshot, so they come at least as often as
/// those of polls would.
pub(super) fn wait(config: &Config) -> Duration {
    config.poll_interval.min(MAX_WAIT)
}

/// The path of a request that waits for so long.
pub(super) fn path(path: &str, wait: Duration) -> String {
    if wait.is_zero() {
        return path.to_owned();
    }
    let separator = if path.contains('?') { '&' } else { '?' };
    format!("{path}{separator}wait={}", DurationText(wait))
}

/// When to send a long poll after a request that was sent at `sent`.
pub(super) fn next(sent: Time, now: Time) -> Time {
    sent.after(MIN_INTERVAL).clamp(now, now.after(MIN_INTERVAL))
}

/// The long polls that failed in a row.
#[derive(Debug, Default)]
pub(super) struct LongPollBackoff {
    backoff: Backoff,
    /// The pause before the next one, after a failure.
    pause: Option<Duration>,
}

impl LongPollBackoff {
    /// Notes a long poll that failed. A poll follows at once, and another long poll after a pause that grows up to
    /// `poll_interval`.
    pub(super) fn note_failure(&mut self, poll_interval: Duration, retry_after: Option<Duration>, chance: u32) {
        let pause = self.backoff.next_delay(poll_interval, retry_after, chance);
        self.pause = Some(pause.min(poll_interval));
    }

    /// Notes a long poll that succeeded.
    pub(super) fn note_success(&mut self) {
        *self = Self::default();
    }

    /// Takes the pause after a failure. `None` if the last long poll did not fail.
    pub(super) fn take_pause(&mut self) -> Option<Duration> {
        self.pause.take()
    }
}
