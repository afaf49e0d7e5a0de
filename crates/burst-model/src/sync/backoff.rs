//! The delay after a failed request: it doubles with each failure, has jitter, and ends with the first success.

use std::time::Duration;

/// The first delay: one tick.
pub(super) const INITIAL_BACKOFF: Duration = Duration::from_secs(1);

/// The longest delay of one list while others work.
pub const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// The longest delay while nothing works. Together with a tick, and the timeout of a callout that was sent before, a
/// server that is back is noticed within 10 s.
pub const PROBE_INTERVAL: Duration = Duration::from_secs(8);

/// The longest `Retry-After` that is obeyed. The API server asks for seconds. A broken intermediary may ask for a year,
/// and the snapshot would be stale for as long.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);

/// The number of consecutive failures.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Continues after that many consecutive failures.
    #[must_use]
    pub fn with_failures(failures: u32) -> Self {
        Self { failures }
    }

    /// The number of consecutive failures.
    #[must_use]
    pub fn failures(self) -> u32 {
        self.failures
    }

    /// Counts one more failure, and returns the delay after it: between half and the whole of 1 s, 2 s, 4 s … `max_delay`.
    /// `chance`, any 32 random bits, decides where, so that the proxies of a cluster do not all return at once. The delay
    /// is not shorter than the server's `Retry-After`, up to five minutes of it.
    pub fn next_delay(&mut self, max_delay: Duration, retry_after: Option<Duration>, chance: u32) -> Duration {
        let doubled = INITIAL_BACKOFF.saturating_mul(2u32.saturating_pow(self.failures));
        self.failures = self.failures.saturating_add(1);
        with_jitter(doubled.min(max_delay), chance).max(capped_retry_after(retry_after))
    }

    /// Forgets the failures: a request succeeded.
    pub fn reset(&mut self) {
        self.failures = 0;
    }

    /// Returns whether the last request succeeded.
    #[must_use]
    pub fn is_clear(self) -> bool {
        self.failures == 0
    }
}

/// Between half and the whole of a delay.
fn with_jitter(delay: Duration, chance: u32) -> Duration {
    delay / 2 + scaled_by_chance(delay / 2, chance)
}

/// A part of a duration: none of it for `chance` 0, all of it for the largest.
pub(super) fn scaled_by_chance(duration: Duration, chance: u32) -> Duration {
    // Floating point would make the header-only module a kilobyte larger.
    let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(millis.saturating_mul(chance.into()) / u64::from(u32::MAX))
}

/// The server's `Retry-After`, up to five minutes of it.
pub(super) fn capped_retry_after(retry_after: Option<Duration>) -> Duration {
    retry_after.unwrap_or_default().min(MAX_RETRY_AFTER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_delay_doubles_up_to_its_maximum_and_starts_anew_after_a_success() {
        let mut backoff = Backoff::default();
        let delays: Vec<_> = (0..7)
            .map(|_| backoff.next_delay(MAX_BACKOFF, None, u32::MAX).as_secs())
            .collect();
        assert_eq!(delays, [1, 2, 4, 8, 16, 30, 30]);
        backoff.reset();
        assert_eq!(backoff.next_delay(MAX_BACKOFF, None, u32::MAX), INITIAL_BACKOFF);
    }

    #[test]
    fn the_delay_is_at_least_the_retry_after_up_to_a_limit() {
        let retry_after = Duration::from_secs(90);
        assert_eq!(
            Backoff::default().next_delay(MAX_BACKOFF, Some(retry_after), 0),
            retry_after
        );
        let year = Duration::from_secs(365 * 24 * 3600);
        assert_eq!(
            Backoff::default().next_delay(MAX_BACKOFF, Some(year), 0),
            MAX_RETRY_AFTER
        );
    }

    proptest! {
        #[test]
        fn a_delay_lies_between_half_and_the_whole(failures in 0u32..100, chance: u32) {
            let delay = Backoff { failures }.next_delay(MAX_BACKOFF, None, chance);
            let whole = Backoff { failures }.next_delay(MAX_BACKOFF, None, u32::MAX);
            prop_assert!(whole / 2 <= delay && delay <= whole);
            prop_assert!(whole <= MAX_BACKOFF);
        }
    }
}
