//! When a proxy last read the cluster, as one tells it to another in a response header: `at=1700000000123, age=1500`,
//! both in milliseconds, or `never`. The age is the one to reckon with: it does not mind clocks that differ.

use crate::time::Time;
use std::time::Duration;

/// The header, on every answer of `/burstmetrics` that speaks of the cluster.
pub const CONFIRMED_HEADER: &str = "x-burst-confirmed";

/// What the header says where nothing was read yet.
pub const NEVER: &str = "never";

/// Clocks that differ by less count as the same: nobody looks at an age more often than once a tick.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(1);

/// When a proxy last read the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confirmation {
    /// By its own clock.
    at: Time,
    /// How long ago that was when it said so.
    age: Duration,
}

/// The header is none, or says something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it does not say in {CONFIRMED_HEADER} when the cluster was read")]
pub struct InvalidConfirmation;

impl Confirmation {
    /// A read at that time, told now.
    #[must_use]
    pub fn new(at: Time, now: Time) -> Self {
        Self { at, age: now.since(at) }
    }

    /// The value of the header.
    #[must_use]
    pub fn to_text(self) -> String {
        format!("at={}, age={}", self.at.unix_millis(), self.age.as_millis())
    }

    /// Reads what [`Self::to_text`] writes.
    ///
    /// # Errors
    /// It is anything else.
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

    /// When the cluster was read, by the clock of who asked at `asked` and has the answer now. Where both clocks say
    /// the same, it is the time that was told, so that both proxies show the same; otherwise it counts back from the
    /// question, which makes the read older than it is by what the answer took, and never younger.
    #[must_use]
    pub fn read_at(self, asked: Time, now: Time) -> Time {
        let told = self.at.after(self.age);
        if asked.before(CLOCK_TOLERANCE) <= told && told <= now.after(CLOCK_TOLERANCE) {
            self.at
        } else {
            asked.before(self.age)
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
    fn with_clocks_alike_the_time_is_the_one_that_was_told() {
        let told = Confirmation::new(T0, T0.after(seconds(20)));
        for apart in [0, 900] {
            let asked = T0.after(seconds(20)).after(Duration::from_millis(apart));
            assert_eq!(told.read_at(asked, asked.after(seconds(2))), T0, "{apart} ms");
        }
    }

    #[test]
    fn with_clocks_that_differ_the_age_counts_from_the_question() {
        let told = Confirmation::new(T0, T0.after(seconds(20)));
        for asked in [T0.after(seconds(3_600)), T0.before(seconds(3_600))] {
            assert_eq!(told.read_at(asked, asked.after(seconds(2))), asked.before(seconds(20)));
        }
    }

    #[test]
    fn what_is_no_confirmation_is_refused() {
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
        fn arbitrary_bytes_are_survived(text in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = Confirmation::parse(&text);
        }

        #[test]
        fn what_was_written_is_read_and_is_never_younger_than_said(at: u64, age: u64, asked: u64, took: u32) {
            let confirmation = Confirmation { at: Time::from_unix_millis(at), age: Duration::from_millis(age) };
            prop_assert_eq!(Confirmation::parse(confirmation.to_text().as_bytes()), Ok(confirmation));
            let asked = Time::from_unix_millis(asked);
            let now = asked.after(Duration::from_millis(took.into()));
            let read = confirmation.read_at(asked, now);
            prop_assert!(read <= now.after(CLOCK_TOLERANCE).before(confirmation.age) || read == Time::default());
        }
    }
}
