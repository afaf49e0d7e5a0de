//! The sum as every VM that serves it has it: bytes until somebody asks.

use super::rate::Rates;
use super::tally::Tally;
use super::text;
use crate::time::Time;
use std::cell::OnceCell;
use std::time::Duration;

/// What was summed up last.
#[derive(Debug, Default)]
pub struct LatestRates {
    bytes: Vec<u8>,
    window: Duration,
    rates: OnceCell<Rates>,
}

impl LatestRates {
    /// Takes the record as it stands, once a tick. Counts older than `limit` are not served, nor those of less than a
    /// window: that nothing was counted in a moment says little, and an autoscaler would take it for an end.
    pub fn refresh(&mut self, bytes: Vec<u8>, window: Duration, limit: Duration, now: Time) {
        self.window = window;
        let age = text::taken(&bytes).map(|taken| now.since(taken));
        if let Some(age) = age.filter(|age| *age > limit) {
            self.rates = Rates::Stale { age, limit }.into();
        } else if bytes != self.bytes || matches!(self.rates.get(), Some(Rates::Stale { .. })) {
            self.rates = OnceCell::new();
        }
        self.bytes = bytes;
    }

    /// The rates.
    #[must_use]
    pub fn rates(&self) -> &Rates {
        self.rates.get_or_init(|| {
            let share = Tally::parse(&self.bytes).ok();
            share
                .filter(|share| share.span >= self.window)
                .and_then(|share| share.rates())
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
    fn what_one_vm_summed_up_is_known_to_every_vm() {
        let mut latest = LatestRates::default();
        assert_eq!(latest.rates(), &Rates::Unknown);
        latest.refresh(RECORD.into(), WINDOW, LIMIT, at(101));
        let Rates::Known(shares) = latest.rates() else {
            panic!("{latest:?}")
        };
        assert_eq!(
            (shares.as_of, shares.services["shop/web"].requests_milli),
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
    fn counts_that_nobody_renews_become_stale() {
        let mut latest = LatestRates::default();
        for (now, stale) in [(130, None), (131, Some(31)), (140, Some(40)), (101, None)] {
            latest.refresh(RECORD.into(), WINDOW, LIMIT, at(now));
            let age = match latest.rates() {
                Rates::Stale { age, .. } => Some(age.as_secs()),
                Rates::Known(_) => None,
                Rates::Unknown => panic!("at {now}"),
            };
            assert_eq!(age, stale, "at {now}");
        }
    }
}
