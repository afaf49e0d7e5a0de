//! Points in time. On wasm32-unknown-unknown only the host has a clock and `std::time::SystemTime::now` panics, so every
//! function that needs the time takes it as an argument.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A point in time, in milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Time(u64);

impl Time {
    /// Creates a time from milliseconds since the Unix epoch.
    #[must_use]
    pub const fn from_unix_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Returns whole seconds since the Unix epoch.
    #[must_use]
    pub const fn unix_seconds(self) -> u64 {
        self.0 / 1000
    }

    /// Returns milliseconds since the Unix epoch.
    #[must_use]
    pub const fn unix_millis(self) -> u64 {
        self.0
    }

    /// Returns the time `pause` later; the latest possible time on overflow.
    #[must_use]
    pub fn after(self, pause: Duration) -> Self {
        Self(
            self.0
                .saturating_add(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)),
        )
    }

    /// Returns the time `pause` earlier; the Unix epoch on underflow.
    #[must_use]
    pub fn before(self, pause: Duration) -> Self {
        Self(
            self.0
                .saturating_sub(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)),
        )
    }

    /// Returns the time since `earlier`; zero if `earlier` is in the future, which happens when the clock is set back.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// Corrects a past time after the clock was set back. `last` is the time shortly before that and `now` the current one. A
    /// time in the future is moved back by their difference, and at least to `now`.
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
    fn a_time_keeps_its_age_when_the_clock_is_set_back() {
        let [past, last, now] = [9_000, 9_500, 2_000].map(Time::from_unix_millis);
        assert_eq!(now.since(past.set_back(last, now)), Duration::from_millis(500));
        assert_eq!(past.set_back(Time::default(), now), now, "the difference is unknown");
        assert_eq!(past.set_back(last, last), past, "the clock was not set back");
        let since = Time::from_unix_millis(1_900);
        assert_eq!(since.set_back(last, now), since, "taken after the change");
    }

    #[test]
    fn times_do_not_overflow() {
        let end = Time::from_unix_millis(u64::MAX);
        assert_eq!(end.after(Duration::MAX), end);
        assert_eq!(Time::from_unix_millis(1).before(Duration::MAX), Time::default());
    }
}
