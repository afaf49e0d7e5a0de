//! The latest sum, as every VM serves it. It is parsed when a request first needs it.

use super::rate::Rates;
use super::tally::Tally;
use super::text;
use crate::time::Time;
use std::cell::OnceCell;
use std::time::Duration;

/// The latest sum and its rates.
#[derive(Debug, Default)]
pub struct LatestRates {
    bytes: Vec<u8>,
    window: Duration,
    rates: OnceCell<Rates>,
}

impl LatestRates {
    /// Takes the record from shared data. Call this once a tick. Counts older than `limit` are not served. Counts over less
    /// than a window are not served either, because an autoscaler would scale down on a moment without requests. Returns whether
    /// the rates may have changed.
    pub fn refresh(&mut self, bytes: Vec<u8>, window: Duration, limit: Duration, now: Time) -> bool {
        let was_stale = matches!(self.rates.get(), Some(Rates::Stale { .. }));
        self.window = window;
        let age = text::taken_at(&bytes).map(|taken| now.since(taken));
        let stale_age = age.filter(|age| *age > limit);
        let has_changed = stale_age.is_some() != was_stale || bytes != self.bytes;
        if let Some(age) = stale_age {
            self.rates = Rates::Stale { age, limit }.into();
        } else if has_changed {
            self.rates = OnceCell::new();
        }
        self.bytes = bytes;
        has_changed
    }

    /// The rates.
    #[must_use]
    pub fn rates(&self) -> &Rates {
        self.rates.get_or_init(|| {
            let tally = Tally::parse(&self.bytes).ok();
            tally
                .filter(|tally| tally.span >= self.window)
                .and_then(|tally| tally.rates())
                .map_or(Rates::Unknown, Rates::Known)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_secs(30);
    const LIMIT: Duration = Duration::from_secs(30);
    const RECORD: &[u8] = b"1;0000000000000001;100000;30000;shop/web=60,0";

    fn at(seconds: u64) -> Time {
        Time::from_unix_millis(seconds * 1000)
    }

    #[test]
    fn the_sum_of_one_vm_is_served_by_every_vm() {
        let mut latest = LatestRates::default();
        assert_eq!(latest.rates(), &Rates::Unknown);
        latest.refresh(RECORD.into(), WINDOW, LIMIT, at(101));
        let Rates::Known(tallies) = latest.rates() else {
            panic!("{latest:?}")
        };
        assert_eq!(
            (tallies.as_of, tallies.services["shop/web"].requests_milli),
            (at(100), 2_000)
        );
        latest.refresh(Vec::new(), WINDOW, LIMIT, at(102));
        assert_eq!(latest.rates(), &Rates::Unknown, "it was withdrawn");
        latest.refresh(b"nonsense".into(), WINDOW, LIMIT, at(103));
        assert_eq!(latest.rates(), &Rates::Unknown);
    }

    #[test]
    fn counts_of_less_than_a_window_are_not_served() {
        let mut latest = LatestRates::default();
        for (span, known) in [(29_999, false), (30_000, true)] {
            let record = format!("1;0000000000000001;100000;{span};shop/web=60,0");
            latest.refresh(record.into(), WINDOW, LIMIT, at(101));
            assert_eq!(latest.rates() != &Rates::Unknown, known, "{span}");
        }
    }

    #[test]
    fn counts_that_are_not_renewed_become_stale() {
        let mut latest = LatestRates::default();
        for (now, stale) in [(130, None), (131, Some(31)), (140, Some(40)), (101, None)] {
            latest.refresh(RECORD.into(), WINDOW, LIMIT, at(now));
            assert!(!latest.refresh(RECORD.into(), WINDOW, LIMIT, at(now)), "at {now}");
            let age = match latest.rates() {
                Rates::Stale { age, .. } => Some(age.as_secs()),
                Rates::Known(_) => None,
                Rates::Unknown => panic!("at {now}"),
            };
            assert_eq!(age, stale, "at {now}");
        }
    }
}
