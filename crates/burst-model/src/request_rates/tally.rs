//! What one observer saw of all Services: a VM of its own requests, a proxy of its VMs', the hub of all proxies'. The
//! [sum](super::Total) of shares is a share again.

use super::count::RequestCounts;
use super::rate::{RateSums, ServiceRate};
use crate::time::Time;
use std::time::Duration;

/// Services in one share, at most: a VM counts no further ones, and a report with more is refused.
pub const MOST_SERVICES: usize = 20_000;

/// What one observer saw over some time. The names are those of Services, as `namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally<'a> {
    /// Whose it is.
    pub id: u64,
    /// When the counts were taken.
    pub taken: Time,
    /// The time up to then that they were counted over.
    pub span: Duration,
    /// By name, in order, each once.
    pub services: Vec<(&'a str, RequestCounts)>,
}

impl Tally<'_> {
    /// Whether it is recent enough to count. One that lies ahead was written before the clock was set back: it is as
    /// little worth as one that lies so far behind.
    #[must_use]
    pub fn is_fresh(&self, now: Time, patience: Duration) -> bool {
        now.since(self.taken) <= patience && self.taken.since(now) <= patience
    }

    /// The rates that these counts are. Nothing was counted over no time.
    #[must_use]
    pub fn rates(&self) -> Option<RateSums> {
        let millis = u64::try_from(self.span.as_millis()).ok().filter(|millis| *millis > 0)?;
        let milli = |count: u64| count.saturating_mul(1_000_000) / millis;
        let rate = |count: &RequestCounts| ServiceRate {
            requests_milli: milli(count.requests),
            rejected_milli: milli(count.rejected),
            in_flight_milli: count.in_flight_milli,
        };
        let services = self.services.iter();
        let services = services.map(|(name, count)| ((*name).to_owned(), rate(count)));
        Some(RateSums {
            as_of: self.taken,
            window: self.span,
            services: services.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::any::share;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_share_from_before_the_clock_was_set_back_does_not_count_for_ever() {
        let (now, patience) = (Time::from_unix_millis(100_000), Duration::from_secs(9));
        for (taken, is_fresh) in [(100, true), (91, true), (90, false), (101, true), (1000, false)] {
            let share = Tally {
                id: 1,
                taken: Time::from_unix_millis(taken * 1000),
                span: Duration::from_secs(30),
                services: Vec::new(),
            };
            assert_eq!(share.is_fresh(now, patience), is_fresh, "taken at {taken} s");
        }
    }

    proptest! {
        #[test]
        fn any_share_has_rates_or_none(share in share()) {
            let _ = share.borrow().rates();
        }
    }
}
