//! The proxy that others report to, and that so knows of all requests.
//!
//! Several proxies may be configured alike and report to one address, which leads to one of them: that one finds its
//! own report among those that came, and so knows that it is the hub. The others know that they are not.

use super::share::Share;
use crate::time::Time;
use std::time::Duration;

/// How reports are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hub {
    /// Since when they come here. Only after `patience` has every proxy had the time to report: before that the sum
    /// would be too small.
    pub since: Time,
    /// The age from which a report counts no more.
    pub patience: Duration,
    /// Whether this proxy reports as well: then it is the hub only if its own reports come here.
    pub reports_too: bool,
}

/// What the hub has of all proxies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole<'a> {
    /// The counts.
    pub share: Share<'a>,
    /// The proxies that they are of.
    pub proxies: usize,
}

impl Hub {
    /// The sum of this proxy's own share and of the reports that came; `None` where it is not the hub, or not for long
    /// enough: nobody may take a part for the whole.
    #[must_use]
    pub fn sum<'a>(&self, own: Share<'a>, reports: Vec<Share<'a>>, now: Time) -> Option<Whole<'a>> {
        let is_own = |report: &Share<'_>| report.id == own.id;
        let comes_here = |report: &Share<'_>| is_own(report) && report.is_fresh(now, self.patience);
        let is_hub = !self.reports_too || reports.iter().any(comes_here);
        if !is_hub || now.since(self.since) < self.patience {
            return None;
        }
        let id = own.id;
        let others = reports.into_iter().filter(|report| report.id != id);
        let others = Share::sum(id, others, now, self.patience);
        Some(Whole {
            share: match others.share {
                Some(others) => others.and(own),
                None => own,
            },
            proxies: others.fresh.saturating_add(1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rates::Count;

    const PATIENCE: Duration = Duration::from_secs(15);
    const HUB: Hub = Hub {
        since: Time::from_unix_millis(1_000),
        patience: PATIENCE,
        reports_too: false,
    };

    fn at(seconds: u64) -> Time {
        Time::from_unix_millis(seconds * 1000)
    }

    fn share(id: u64, taken: u64, requests: u64) -> Share<'static> {
        let count = Count {
            requests,
            ..Count::default()
        };
        Share {
            id,
            taken: at(taken),
            span: Duration::from_secs(30),
            services: vec![("shop/web", count)],
        }
    }

    /// The requests, and how many proxies they are of.
    fn seen(whole: Option<Whole<'_>>) -> Option<(u64, usize)> {
        whole.map(|whole| (whole.share.services[0].1.requests, whole.proxies))
    }

    #[test]
    fn the_hub_adds_up_what_is_fresh_and_is_as_old_as_the_oldest() {
        let reports = vec![share(2, 95, 20), share(3, 99, 300), share(4, 60, 4000)];
        let whole = HUB.sum(share(1, 100, 1), reports, at(100)).unwrap();
        assert_eq!((whole.share.taken, whole.share.id), (at(95), 1));
        assert_eq!(seen(Some(whole)), Some((321, 3)));
        assert_eq!(seen(HUB.sum(share(1, 100, 1), vec![], at(100))), Some((1, 1)));
    }

    #[test]
    fn a_hub_that_has_just_begun_does_not_take_the_first_reports_for_all() {
        let hub = Hub { since: at(90), ..HUB };
        let sum = |now| seen(hub.sum(share(1, now, 1), vec![share(2, now, 20)], at(now)));
        assert_eq!(sum(104), None);
        assert_eq!(sum(105), Some((21, 2)));
    }

    #[test]
    fn of_proxies_that_are_configured_alike_the_one_that_hears_itself_is_the_hub() {
        let hub = Hub {
            reports_too: true,
            ..HUB
        };
        let sum = |reports| seen(hub.sum(share(1, 100, 1), reports, at(100)));
        assert_eq!(sum(vec![]), None);
        assert_eq!(sum(vec![share(2, 99, 20)]), None);
        let both = vec![share(1, 99, 1), share(2, 99, 20)];
        assert_eq!(sum(both), Some((21, 2)), "and it counts once");
        let before = vec![share(1, 80, 1), share(2, 99, 20)];
        assert_eq!(sum(before), None, "it was the hub before");
    }
}
