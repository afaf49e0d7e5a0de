//! Moments as numbers. On wasm32-unknown-unknown the host is the only clock, so `std::time::SystemTime::now` is not
//! an option and every function that needs the time is given it.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A moment, in milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Time(u64);

impl Time {
    /// The moment that many milliseconds after the Unix epoch.
    #[must_use]
    pub const fn from_unix_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Whole seconds since the Unix epoch.
    #[must_use]
    pub const fn unix_seconds(self) -> u64 {
        self.0 / 1000
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub const fn unix_millis(self) -> u64 {
        self.0
    }

    /// The moment `pause` later; the end of time where that would overflow.
    #[must_use]
    pub fn after(self, pause: Duration) -> Self {
        Self(
            self.0
                .saturating_add(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)),
        )
    }

    /// The moment `pause` before; the beginning of time where that lies before it.
    #[must_use]
    pub fn before(self, pause: Duration) -> Self {
        Self(
            self.0
                .saturating_sub(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)),
        )
    }

    /// How long ago `earlier` was; zero where it lies ahead, as it can when the wall clock is set back.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// A past moment by the clock of `now`, which said `last` shortly before. One that lies ahead was taken before the
    /// clock was set back, by the difference of the two; where that is not known it counts as the present.
    #[must_use]
    pub fn set_back(self, last: Self, now: Self) -> Self {
        if self <= now {
            return self;
        }
        self.before(last.since(now)).min(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_set_back_makes_no_time_pass() {
        let earlier = Time::from_unix_millis(5_000);
        assert_eq!(Time::from_unix_millis(4_000).since(earlier), Duration::ZERO);
        assert_eq!(
            Time::from_unix_millis(7_500).since(earlier),
            Duration::from_millis(2_500)
        );
    }

    #[test]
    fn what_was_before_the_clock_was_set_back_is_as_old_as_it_was() {
        let [past, last, now] = [9_000, 9_500, 2_000].map(Time::from_unix_millis);
        assert_eq!(now.since(past.set_back(last, now)), Duration::from_millis(500));
        assert_eq!(past.set_back(Time::default(), now), now, "nobody knows by how much");
        assert_eq!(past.set_back(last, last), past, "it was not");
        let since = Time::from_unix_millis(1_900);
        assert_eq!(since.set_back(last, now), since, "it was taken after that");
    }

    #[test]
    fn the_ends_of_time_are_not_passed() {
        let end = Time::from_unix_millis(u64::MAX);
        assert_eq!(end.after(Duration::MAX), end);
        assert_eq!(Time::from_unix_millis(1).before(Duration::MAX), Time::default());
    }
}
