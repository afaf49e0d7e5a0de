//! The response header in which a hub tells a spoke when it last read the cluster: `at=1700000000123, age=1500`, both in
//! milliseconds, or `never`. The spoke computes with the age, which does not depend on the clocks of the two proxies.

use crate::time::Time;
use std::time::Duration;

/// The header. Every response of `/burstmetrics` about the cluster has it.
pub const CONFIRMED_HEADER: &str = "x-burst-confirmed";

/// The value of the header before the first read.
pub const NEVER: &str = "never";

/// Clocks that differ by less than this count as equal: ages are checked once in each tick.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(1);

/// When a proxy last read the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confirmation {
    /// The time of the read by the proxy's own clock.
    at: Time,
    /// How long before the response that was.
    age: Duration,
}

/// The header is missing or malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the header {CONFIRMED_HEADER}, which says when the cluster was read, is missing or malformed")]
pub struct InvalidConfirmation;

impl Confirmation {
    /// A read at that time, for a response that is sent now.
    #[must_use]
    pub fn new(at: Time, now: Time) -> Self {
        Self { at, age: now.since(at) }
    }

    /// The value of the header.
    #[must_use]
    pub fn to_text(self) -> String {
        format!("at={}, age={}", self.at.unix_millis(), self.age.as_millis())
    }

    /// Parses what [`Self::to_text`] writes.
    ///
    /// # Errors
    /// Returns [`InvalidConfirmation`] for any other text.
    pub fn parse(text: &[u8]) -> Result<Self, InvalidConfirmation> {
        let parse = || {
            let text = std::str::from_utf8(text).ok()?;
            let (at, age) = text.strip_prefix("at=")?.split_once(", age=")?;
            Some(Self {
                at: Time::from_unix_millis(at.parse().ok()?),
                age: Duration::from_millis(age.parse().ok()?),
            })
        };
        parse().ok_or(InvalidConfirmation)
    }

    /// When the cluster was read by the clock of a spoke that sent its request at `requested_at` and has the response now.
    /// If the clocks are equal, it is the time in the header, so that both proxies show the same. Otherwise it is the time
    /// of the request minus the age. That makes the read older by the time that the response took, and never younger.
    #[must_use]
    pub fn read_at(self, requested_at: Time, now: Time) -> Time {
        let sent_at = self.at.after(self.age);
        if requested_at.before(CLOCK_TOLERANCE) <= sent_at && sent_at <= now.after(CLOCK_TOLERANCE) {
            self.at
        } else {
            requested_at.before(self.age)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const T0: Time = Time::from_unix_millis(1_700_000_000_000);

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_header_says_when_and_how_long_ago() {
        let confirmation = Confirmation::new(T0, T0.after(Duration::from_millis(1_500)));
        assert_eq!(confirmation.to_text(), "at=1700000000000, age=1500");
    }

    #[test]
    fn with_equal_clocks_the_time_is_that_of_the_header() {
        let confirmation = Confirmation::new(T0, T0.after(seconds(20)));
        for apart in [0, 900] {
            let requested_at = T0.after(seconds(20)).after(Duration::from_millis(apart));
            assert_eq!(
                confirmation.read_at(requested_at, requested_at.after(seconds(2))),
                T0,
                "{apart} ms"
            );
        }
    }

    #[test]
    fn with_different_clocks_the_age_counts_from_the_request() {
        let confirmation = Confirmation::new(T0, T0.after(seconds(20)));
        for requested_at in [T0.after(seconds(3_600)), T0.before(seconds(3_600))] {
            assert_eq!(
                confirmation.read_at(requested_at, requested_at.after(seconds(2))),
                requested_at.before(seconds(20))
            );
        }
    }

    #[test]
    fn a_malformed_header_is_refused() {
        for text in [
            "",
            "never",
            "at=1",
            "at=1,age=1",
            "at=1, age=",
            "at=-1, age=1",
            "at=1, age=1, more=1",
            "at=18446744073709551616, age=1",
            "\u{fffd}",
        ] {
            assert_eq!(Confirmation::parse(text.as_bytes()), Err(InvalidConfirmation), "{text}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(text in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = Confirmation::parse(&text);
        }

        #[test]
        fn a_written_header_is_read_and_the_read_is_never_younger(at: u64, age: u64, requested_at: u64, took: u32) {
            let confirmation = Confirmation { at: Time::from_unix_millis(at), age: Duration::from_millis(age) };
            prop_assert_eq!(Confirmation::parse(confirmation.to_text().as_bytes()), Ok(confirmation));
            let requested_at = Time::from_unix_millis(requested_at);
            let now = requested_at.after(Duration::from_millis(took.into()));
            let read = confirmation.read_at(requested_at, now);
            prop_assert!(read <= now.after(CLOCK_TOLERANCE).before(confirmation.age) || read == Time::default());
        }
    }
}
