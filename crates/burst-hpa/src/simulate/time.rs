//! Points in time. The caller supplies them, because the simulator reads no clock.

use std::ops::{Add, Sub};
use std::time::Duration;

/// A point in time, in milliseconds since an epoch. The caller chooses the epoch and uses the same one for a whole
/// simulation.
///
/// Arithmetic saturates instead of overflowing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    /// The zero time of Kubernetes. It is before every other time.
    pub const DISTANT_PAST: Self = Self(i64::MIN);

    /// Returns the time `millis` after the epoch.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns the time `seconds` after the epoch.
    #[must_use]
    pub const fn from_secs(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// Returns the milliseconds since the epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    fn add(self, length: Duration) -> Self {
        Self(self.0.saturating_add(millis(length)))
    }
}

impl Sub<Duration> for Time {
    type Output = Self;

    fn sub(self, length: Duration) -> Self {
        Self(self.0.saturating_sub(millis(length)))
    }
}

fn millis(length: Duration) -> i64 {
    i64::try_from(length.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Time::DISTANT_PAST - Duration::from_secs(1), Time::DISTANT_PAST);
        assert_eq!(Time::from_millis(i64::MAX) + Duration::MAX, Time::from_millis(i64::MAX));
        assert_eq!(Time::from_secs(2) - Duration::from_millis(500), Time::from_millis(1500));
    }
}
