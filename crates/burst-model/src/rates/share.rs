//! What one observer saw of all Services: a VM of its own requests, a proxy of its VMs', the hub of all proxies'. The
//! sum of shares is a share again.

use super::count::Count;
use super::rate::{Rate, Shares};
use crate::time::Time;
use std::cmp::Ordering;
use std::time::Duration;

/// Services in one share, at most: a VM counts no further ones, and a report with more is refused.
pub const MOST_SERVICES: usize = 20_000;

/// What one observer saw over some time. The names are those of Services, as `namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share<'a> {
    /// Whose it is.
    pub id: u64,
    /// When the counts were taken.
    pub taken: Time,
    /// The time up to then that they were counted over.
    pub span: Duration,
    /// By name, in order, each once.
    pub services: Vec<(&'a str, Count)>,
}

/// Which shares were added up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sum<'a> {
    /// All of them, with the time of the oldest; `None` where there is none.
    pub share: Option<Share<'a>>,
    /// How many that are.
    pub fresh: usize,
}

impl<'a> Share<'a> {
    /// Whether it is recent enough to count. One that lies ahead was written before the clock was set back: it is as
    /// little worth as one that lies so far behind.
    #[must_use]
    pub fn is_fresh(&self, now: Time, patience: Duration) -> bool {
        now.since(self.taken) <= patience && self.taken.since(now) <= patience
    }

    /// All the fresh ones together, in the name of `id`. It was counted over the longest of their spans: in the time
    /// before a younger observer was there it saw nothing. The window is over when the oldest of them was taken.
    #[must_use]
    pub fn sum(id: u64, shares: impl IntoIterator<Item = Self>, now: Time, patience: Duration) -> Sum<'a> {
        let mut fresh = 0;
        let share = shares
            .into_iter()
            .filter(|share| share.is_fresh(now, patience))
            .inspect(|_| fresh += 1)
            .reduce(Self::and);
        Sum {
            share: share.map(|share| Self { id, ..share }),
            fresh,
        }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            id: self.id,
            taken: self.taken.min(other.taken),
            span: self.span.max(other.span),
            services: merge(self.services, other.services),
        }
    }

    /// The rates that these counts are. Nothing was counted over no time.
    #[must_use]
    pub fn rates(&self) -> Option<Shares> {
        let millis = u64::try_from(self.span.as_millis()).ok().filter(|millis| *millis > 0)?;
        let milli = |count: u64| count.saturating_mul(1_000_000) / millis;
        let rate = |count: &Count| Rate {
            requests_milli: milli(count.requests),
            rejected_milli: milli(count.rejected),
            in_flight_milli: count.in_flight_milli,
        };
        let services = self.services.iter();
        let services = services.map(|(name, count)| ((*name).to_owned(), rate(count)));
        Some(Shares {
            as_of: self.taken,
            window: self.span,
            services: services.collect(),
        })
    }
}

/// Two lists in order become one.
fn merge<'a>(one: Vec<(&'a str, Count)>, two: Vec<(&'a str, Count)>) -> Vec<(&'a str, Count)> {
    let mut merged = Vec::with_capacity(one.len().max(two.len()));
    let (mut one, mut two) = (one.into_iter().peekable(), two.into_iter().peekable());
    loop {
        let order = match (one.peek(), two.peek()) {
            (Some((a, _)), Some((b, _))) => a.cmp(b),
            (Some(_), None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        let next = match order {
            Ordering::Less => one.next(),
            Ordering::Greater => two.next(),
            Ordering::Equal => one.next().zip(two.next()).map(|((name, a), (_, b))| (name, a.and(b))),
        };
        match next {
            Some(next) => merged.push(next),
            None => return merged,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::any::{share, shares};
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const PATIENCE: Duration = Duration::from_secs(9);

    fn at(seconds: u64) -> Time {
        Time::from_unix_millis(seconds * 1000)
    }

    fn seen<'a>(id: u64, taken: u64, services: &[(&'a str, [u64; 3])]) -> Share<'a> {
        let count = |[requests, rejected, in_flight]: [u64; 3]| Count {
            requests,
            rejected,
            in_flight_milli: Some(in_flight),
        };
        Share {
            id,
            taken: at(taken),
            span: Duration::from_secs(30),
            services: services.iter().map(|(name, counts)| (*name, count(*counts))).collect(),
        }
    }

    fn sum<'a>(shares: &[Share<'a>], now: u64) -> Sum<'a> {
        Share::sum(9, shares.to_vec(), at(now), PATIENCE)
    }

    #[test]
    fn the_fresh_are_added_up_and_the_late_are_dropped() {
        let one = seen(1, 100, &[("shop/web", [60, 3, 500]), ("shop/api", [0, 0, 0])][..1]);
        let two = seen(2, 103, &[("shop/api", [5, 5, 0]), ("shop/web", [30, 0, 250])]);
        let both = sum(&[one.clone(), two.clone()], 105);
        let mut whole = seen(9, 100, &[("shop/api", [5, 5, 0]), ("shop/web", [90, 3, 750])]);
        assert_eq!(
            (both.fresh, both.share.as_ref()),
            (2, Some(&whole)),
            "as old as the oldest"
        );
        (whole.taken, whole.services) = (at(103), two.services.clone());
        let later = sum(&[one.clone(), two.clone()], 110);
        assert_eq!((later.fresh, later.share), (1, Some(whole)));
        assert_eq!(sum(&[one, two], 200), Sum { share: None, fresh: 0 });
    }

    #[test]
    fn a_share_from_before_the_clock_was_set_back_does_not_count_for_ever() {
        assert_eq!(sum(&[seen(1, 1000, &[])], 100).fresh, 0);
        assert_eq!(sum(&[seen(1, 101, &[])], 100).fresh, 1, "a little ahead is no harm");
    }

    #[test]
    fn counts_become_rates_over_the_longest_span() {
        let mut young = seen(2, 100, &[("shop/web", [30, 30, 1500])]);
        young.span = Duration::from_secs(3);
        let share = sum(&[seen(1, 100, &[("shop/web", [60, 0, 500])]), young.clone()], 100).share;
        let rates = share.unwrap().rates().unwrap();
        let web = rates.services["shop/web"];
        assert_eq!(
            (web.requests_milli, web.rejected_milli, web.in_flight_milli),
            (3_000, 1_000, Some(2_000))
        );
        assert_eq!((rates.window, rates.as_of), (Duration::from_secs(30), at(100)));
        young.span = Duration::ZERO;
        assert_eq!(young.rates(), None);
    }

    #[test]
    fn requests_under_way_that_one_does_not_count_are_unknown() {
        let mut blind = seen(2, 100, &[("shop/web", [1, 0, 0])]);
        blind.services[0].1.in_flight_milli = None;
        let share = sum(&[seen(1, 100, &[("shop/web", [1, 0, 7])]), blind], 100)
            .share
            .unwrap();
        assert_eq!(share.services[0].1.in_flight_milli, None);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_counted_twice(all in shares()) {
            let all: Vec<_> = all.iter().map(|share| share.borrow()).collect();
            let mut wanted: BTreeMap<&str, u64> = BTreeMap::new();
            for (name, count) in all.iter().flat_map(|share| &share.services) {
                *wanted.entry(name).or_default() += count.requests;
            }
            let sum = Share::sum(0, all, Time::default(), Duration::MAX);
            let services = sum.share.map(|share| share.services).unwrap_or_default();
            prop_assert!(services.is_sorted_by(|a, b| a.0 < b.0));
            let found: BTreeMap<_, _> = services.iter().map(|(name, count)| (*name, count.requests)).collect();
            prop_assert_eq!(found, wanted);
        }

        #[test]
        fn the_order_of_the_shares_does_not_matter(all in shares(), turn in 0..8usize) {
            let all: Vec<_> = all.iter().map(|share| share.borrow()).collect();
            let mut turned = all.clone();
            turned.rotate_left(turn.min(all.len()));
            let sum = |shares| Share::sum(0, shares, Time::default(), Duration::MAX);
            prop_assert_eq!(sum(all), sum(turned));
        }

        #[test]
        fn any_share_has_rates_or_none(share in share()) {
            let _ = share.borrow().rates();
        }
    }
}
