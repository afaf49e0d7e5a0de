//! A limit on how often something happens in a minute.

use crate::time::Time;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

/// A quota for each minute.
#[derive(Clone, Copy, Debug)]
pub struct Quota {
    limit: usize,
    /// The start of the current minute.
    since: Time,
    taken: usize,
    refused: usize,
}

impl Quota {
    /// Creates a quota of `limit` a minute.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self {
            limit,
            since: Time::from_unix_millis(0),
            taken: 0,
            refused: 0,
        }
    }

    /// Takes one. Returns whether the quota allows it, and how many were refused in the minute that this call ended, if any.
    pub fn take(&mut self, now: Time) -> (bool, usize) {
        let mut refused = 0;
        // A clock that was set back starts a new minute too.
        if now.since(self.since) >= MINUTE || now < self.since {
            refused = self.refused;
            *self = Self::new(self.limit);
            self.since = now;
        }
        let is_allowed = self.taken < self.limit;
        match is_allowed {
            true => self.taken += 1,
            false => self.refused = self.refused.saturating_add(1),
        }
        (is_allowed, refused)
    }

    /// Returns the first lines that the quota allows. Once a minute a last line says how many others there are.
    pub(crate) fn lines(&mut self, lines: impl IntoIterator<Item = String>, now: Time) -> Vec<String> {
        let mut allowed = Vec::new();
        let mut suppressed = 0_usize;
        for line in lines {
            match self.take(now).0 {
                true => allowed.push(line),
                false => suppressed += 1,
            }
        }
        if suppressed > 0 && self.refused == suppressed {
            allowed.push(format!(
                "{suppressed} more lines of this kind are suppressed for a minute; `burst_bad_objects` counts the objects"
            ));
        }
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::from_unix_millis(1_000_000 + seconds * 1000)
    }

    #[test]
    fn each_minute_has_a_quota() {
        let mut quota = Quota::new(3);
        let mut take = |seconds| quota.take(at(seconds));
        for seconds in [0, 1, 59] {
            assert_eq!(take(seconds), (true, 0));
        }
        for _ in 0..30 {
            assert_eq!(take(59), (false, 0), "ten times as many are refused");
        }
        assert_eq!(take(60), (true, 30));
        assert_eq!(take(61), (true, 0), "reported once");
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_suppress_lines() {
        let mut quota = Quota::new(1);
        assert!(quota.take(at(1_000)).0);
        assert!(!quota.take(at(1_001)).0);
        assert!(quota.take(at(5)).0);
    }

    #[test]
    fn suppressed_lines_are_counted_once_a_minute() {
        let lines = |count: usize| (0..count).map(|n| format!("line {n}"));
        let mut quota = Quota::new(10);
        assert_eq!(quota.lines(lines(10), at(0)).len(), 10);
        let more = quota.lines(lines(100), at(1));
        assert_eq!(more.len(), 1);
        assert!(more[0].starts_with("100 more lines "), "{more:?}");
        assert_eq!(quota.lines(lines(100), at(2)), Vec::<String>::new());
        assert_eq!(quota.lines(lines(12), at(61)).len(), 11);
    }
}
