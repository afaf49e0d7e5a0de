//! A tally: the request counts of all Services, as one VM, one proxy or the hub counted them. The
//! [sum](super::TallySum) of tallies is a tally.

use super::count::RequestCounts;
use super::rate::{RateSums, ServiceRate};
use crate::time::Time;
use std::net::IpAddr;
use std::time::Duration;

/// The most Services in one tally. A VM counts no further ones, and a report with more is refused.
pub const MAX_SERVICES: usize = 20_000;

/// The request counts of one observer over a period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally<'a> {
    /// The id of the observer.
    pub id: u64,
    /// The end of the period.
    pub taken_at: Time,
    /// The length of the period.
    pub span: Duration,
    /// By `namespace/name` of the Service, sorted and unique.
    pub services: Vec<(&'a str, RequestCounts)>,
    /// By the address of the endpoint that answered, sorted and unique. An address that is missing here had no request.
    /// `None` if addresses are not counted, or not all of them could be.
    pub addresses: Option<Vec<(IpAddr, RequestCounts)>>,
}

impl Tally<'_> {
    /// Returns whether the tally is recent enough. One in the future was written before the clock was set back, and may
    /// lie ahead by as much.
    #[must_use]
    pub fn is_fresh(&self, now: Time, max_age: Duration) -> bool {
        now.since(self.taken_at) <= max_age && self.taken_at.since(now) <= max_age
    }

    /// The rates of these counts. `None` if the period is empty.
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
            as_of: self.taken_at,
            window: self.span,
            services: services.collect(),
            addresses: self.addresses.as_ref().map(|addresses| {
                let addresses = addresses.iter();
                addresses.map(|(address, count)| (*address, rate(count))).collect()
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::arbitrary::tally;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_tally_from_the_future_is_fresh_only_within_the_maximum_age() {
        let (now, max_age) = (Time::from_unix_millis(100_000), Duration::from_secs(9));
        for (taken, is_fresh) in [(100, true), (91, true), (90, false), (101, true), (1000, false)] {
            let tally = Tally {
                id: 1,
                taken_at: Time::from_unix_millis(taken * 1000),
                span: Duration::from_secs(30),
                services: Vec::new(),
                addresses: None,
            };
            assert_eq!(tally.is_fresh(now, max_age), is_fresh, "taken at {taken} s");
        }
    }

    proptest! {
        #[test]
        fn any_tally_has_rates_or_none(tally in tally()) {
            let _ = tally.borrow().rates();
        }
    }
}
