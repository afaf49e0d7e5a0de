//! The response header in which a hub tells a spoke when it last read the cluster: `at=1700000000123, age=1500`, both in
//! milliseconds, or `never`. The spoke computes with the age, which does not depend on the clocks of the two proxies. If the
//! request has the parameter `wait`, the header also says for how long it waited for a change: `, waited=9800`.

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
    /// How long the proxy held the response back; `None` if the request did not ask for that, or the proxy cannot do it.
    waited: Option<Duration>,
}

/// The header is missing or malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the header {CONFIRMED_HEADER}, which says when the cluster was read, is missing or malformed")]
pub struct InvalidConfirmation;

impl Confirmation {
    /// A read at that time, for a response that is sent now.
    #[must_use]
    pub fn new(at: Time, now: Time) -> Self {
        Self {
            at,
            age: now.since(at),
            waited: None,
        }
    }

    /// The same, for a request that asked to wait, and waited for so long.
    #[must_use]
    pub fn with_wait(self, waited: Duration) -> Self {
        Self {
            waited: Some(waited),
            ..self
        }
    }

    /// The time of the read by the proxy's own clock.
    #[must_use]
    pub fn at(self) -> Time {
        self.at
    }

    /// Whether the proxy understands that a request waits for a change.
    #[must_use]
    pub fn supports_waiting(self) -> bool {
        self.waited.is_some()
    }

    /// The value of the header.
    #[must_use]
    pub fn to_text(self) -> String {
        let text = format!("at={}, age={}", self.at.unix_millis(), self.age.as_millis());
        match self.waited {
            None => text,
            Some(waited) => format!("{text}, waited={}", waited.as_millis()),
        }
    }

    /// Parses what [`Self::to_text`] writes.
    ///
    /// # Errors
    /// Returns [`InvalidConfirmation`] for any other text.
    pub fn parse(text: &[u8]) -> Result<Self, InvalidConfirmation> {
        let parse = || {
            let text = std::str::from_utf8(text).ok()?;
            let (at, rest) = text.strip_prefix("at=")?.split_once(", age=")?;
            let (age, waited) = match rest.split_once(", waited=") {
                None => (rest, None),
                Some((age, waited)) => (age, Some(millis(waited)?)),
            };
            Some(Self {
                at: Time::from_unix_millis(at.parse().ok()?),
                age: millis(age)?,
                waited,
            })
        };
        parse().ok_or(InvalidConfirmation)
    }

    /// When the cluster was read by the clock of a spoke that sent its request at `requested_at` and has the response now.
    /// If the clocks are equal, it is the time in the header, so that both proxies show the same. Otherwise it is the time
    /// of the request, and what the request waited, minus the age. That makes the read older by the time that the response
    /// took, and never younger.
    #[must_use]
    pub fn read_at(self, requested_at: Time, now: Time) -> Time {
        let sent_at = self.at.after(self.age);
        let earliest = match self.waited {
            None => requested_at,
            Some(waited) => requested_at.after(waited).min(now),
        };
        if earliest.before(CLOCK_TOLERANCE) <= sent_at && sent_at <= now.after(CLOCK_TOLERANCE) {
            self.at
        } else {
            earliest.before(self.age)
        }
    }
}

fn millis(text: &str) -> Option<Duration> {
    text.parse().ok().map(Duration::from_millis)
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
    fn what_the_request_waited_does_not_make_the_read_older() {
        let waited = seconds(10);
        // The hub confirmed its snapshot three seconds before the end of the wait.
        for clock in [T0.after(seconds(3_600)), T0.before(seconds(3_600))] {
            let (requested_at, now) = (T0, T0.after(waited).after(Duration::from_millis(20)));
            let confirmation = Confirmation::new(clock.before(seconds(3)), clock).with_wait(waited);
            assert_eq!(confirmation.read_at(requested_at, now), T0.after(seconds(7)));
            let without = Confirmation {
                waited: None,
                ..confirmation
            };
            assert_eq!(without.read_at(requested_at, now), T0.before(seconds(3)));
            let too_long = confirmation.with_wait(seconds(99));
            assert_eq!(
                too_long.read_at(requested_at, now),
                now.before(seconds(3)),
                "never in the future"
            );
        }
    }

    #[test]
    fn the_header_says_how_long_the_request_waited() {
        let confirmation = Confirmation::new(T0, T0.after(seconds(1))).with_wait(Duration::from_millis(9_800));
        assert_eq!(confirmation.to_text(), "at=1700000000000, age=1000, waited=9800");
        assert!(confirmation.supports_waiting());
        assert!(!Confirmation::new(T0, T0).supports_waiting());
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
            "at=1, waited=1",
            "at=1, age=1, waited=",
            "at=1, age=1, waited=1, waited=1",
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
        fn a_written_header_is_read_and_the_read_is_never_younger(
            at: u64,
            age: u64,
            waited: Option<u64>,
            requested_at: u64,
            took: u32,
        ) {
            let confirmation = Confirmation {
                at: Time::from_unix_millis(at),
                age: Duration::from_millis(age),
                waited: waited.map(Duration::from_millis),
            };
            prop_assert_eq!(Confirmation::parse(confirmation.to_text().as_bytes()), Ok(confirmation));
            let requested_at = Time::from_unix_millis(requested_at);
            let now = requested_at.after(Duration::from_millis(took.into()));
            let read = confirmation.read_at(requested_at, now);
            prop_assert!(read <= now.after(CLOCK_TOLERANCE).before(confirmation.age) || read == Time::default());
        }
    }
}
