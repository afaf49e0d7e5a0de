//! How long to leave a failing API alone: twice as long each time, with jitter, back to nothing on the first good
//! answer.

use std::time::Duration;

/// The shortest pause after a failure: one tick.
pub(super) const INITIAL_BACKOFF: Duration = Duration::from_secs(1);

/// The longest pause of one list among others that work.
pub const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// The longest pause where nothing works: with a tick, and a callout that ends before, a server that is back is noticed
/// within 10 s.
pub const PROBE_INTERVAL: Duration = Duration::from_secs(8);

/// The longest wish of the server that is met. It asks for seconds; whatever stands before it may ask for a year, and
/// the picture would be gone for as long.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);

/// Failures in a row.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Goes on after that many failures in a row.
    #[must_use]
    pub fn with_failures(failures: u32) -> Self {
        Self { failures }
    }

    /// Failures in a row.
    #[must_use]
    pub fn failures(self) -> u32 {
        self.failures
    }

    /// The pause after one more failure: between half and the whole of 1 s, 2 s, 4 s … `longest`, as `chance` (any 32
    /// bits) decides, so that the proxies of a cluster do not come back all at once. Not shorter than the server's own
    /// wish, up to five minutes of it.
    pub fn next_delay(&mut self, max_delay: Duration, retry_after: Option<Duration>, chance: u32) -> Duration {
        let doubled = INITIAL_BACKOFF.saturating_mul(2u32.saturating_pow(self.failures));
        self.failures = self.failures.saturating_add(1);
        with_jitter(doubled.min(max_delay), chance).max(capped_retry_after(retry_after))
    }

    /// A good answer came.
    pub fn reset(&mut self) {
        self.failures = 0;
    }

    /// Whether the last answer was a good one.
    #[must_use]
    pub fn is_clear(self) -> bool {
        self.failures == 0
    }
}

/// Between half and the whole of a pause.
fn with_jitter(whole: Duration, chance: u32) -> Duration {
    whole / 2 + scaled_by_chance(whole / 2, chance)
}

/// As much of a time as `chance` (any 32 bits) says.
pub(super) fn scaled_by_chance(time: Duration, chance: u32) -> Duration {
    // Without floating point, which would make the smaller module larger by a kilobyte.
    let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(millis.saturating_mul(chance.into()) / u64::from(u32::MAX))
}

/// How long a server that wishes to be left alone is: up to five minutes.
pub(super) fn capped_retry_after(retry_after: Option<Duration>) -> Duration {
    retry_after.unwrap_or_default().min(MAX_RETRY_AFTER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn it_doubles_up_to_the_longest_and_forgets_on_success() {
        let mut backoff = Backoff::default();
        let pauses: Vec<_> = (0..7)
            .map(|_| backoff.next_delay(MAX_BACKOFF, None, u32::MAX).as_secs())
            .collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30]);
        backoff.reset();
        assert_eq!(backoff.next_delay(MAX_BACKOFF, None, u32::MAX), INITIAL_BACKOFF);
    }

    #[test]
    fn the_servers_wish_is_the_least() {
        let wish = Duration::from_secs(90);
        assert_eq!(Backoff::default().next_delay(MAX_BACKOFF, Some(wish), 0), wish);
        let year = Duration::from_secs(365 * 24 * 3600);
        assert_eq!(
            Backoff::default().next_delay(MAX_BACKOFF, Some(year), 0),
            MAX_RETRY_AFTER
        );
    }

    proptest! {
        #[test]
        fn a_pause_lies_between_its_half_and_its_whole(failures in 0u32..100, chance: u32) {
            let pause = Backoff { failures }.next_delay(MAX_BACKOFF, None, chance);
            let whole = Backoff { failures }.next_delay(MAX_BACKOFF, None, u32::MAX);
            prop_assert!(whole / 2 <= pause && pause <= whole);
            prop_assert!(whole <= MAX_BACKOFF);
        }
    }
}
