//! What a proxy publishes: its own share, or, where other proxies report to it, the sum of all.
//!
//! Several proxies may be configured alike and report to one address, which leads to one of them: that one finds its
//! own report among those that came, and so knows that it is the hub. The others publish their own share, and say so.

use super::rate::Scope;
use super::share::Share;
use super::text::BadShare;
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

/// What is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published<'a> {
    /// The counts.
    pub share: Share<'a>,
    /// Whose they are.
    pub scope: Scope,
    /// The proxies that they are of.
    pub proxies: usize,
}

impl<'a> Published<'a> {
    /// A proxy's own share.
    #[must_use]
    pub fn own(share: Share<'a>) -> Self {
        Self {
            share,
            scope: Scope::Proxy,
            proxies: 1,
        }
    }
}

impl Hub {
    /// What is published of a proxy's own share and the reports that it has.
    #[must_use]
    pub fn publish<'a>(&self, own: Share<'a>, reports: Vec<Share<'a>>, now: Time) -> Published<'a> {
        let is_own = |report: &Share<'_>| report.id == own.id;
        let comes_here = |report: &Share<'_>| is_own(report) && report.is_fresh(now, self.patience);
        let is_hub = !self.reports_too || reports.iter().any(comes_here);
        if !is_hub || now.since(self.since) < self.patience {
            return Published::own(own);
        }
        let id = own.id;
        let others = reports.into_iter().filter(|report| report.id != id);
        let others = Share::sum(id, others, now, self.patience);
        let proxies = others.fresh.saturating_add(1);
        let share = match others.share {
            Some(others) => others.and(own),
            None => own,
        };
        Published {
            share,
            scope: Scope::AllProxies,
            proxies,
        }
    }

    /// Whether a report is one that this hub can use.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self, report: &Share<'_>, window: Duration, now: Time) -> Result<(), BadReport> {
        if !report.is_fresh(now, self.patience) {
            return Err(BadReport::Late(now.since(report.taken)));
        }
        // A longer span would make every rate smaller.
        if report.span > window.saturating_mul(2) {
            return Err(BadReport::Window(report.span, window));
        }
        Ok(())
    }
}

/// Why a report is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadReport {
    /// It cannot be read.
    #[error("the report {0}")]
    Share(#[from] BadShare),
    /// Its counts are too old.
    #[error("the report is of {} s ago", .0.as_secs())]
    Late(Duration),
    /// The proxies have different windows.
    #[error("the report is of {} s, and the window here is {} s: give all proxies the same `requests.window`", .0.as_secs(), .1.as_secs())]
    Window(Duration, Duration),
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

    /// The scope, the requests and how many proxies they are of.
    fn seen(published: &Published<'_>) -> (Scope, u64, usize) {
        let (_, count) = published.share.services[0];
        (published.scope, count.requests, published.proxies)
    }

    #[test]
    fn the_hub_adds_up_what_is_fresh_and_is_as_old_as_the_oldest() {
        let reports = vec![share(2, 95, 20), share(3, 99, 300), share(4, 60, 4000)];
        let published = HUB.publish(share(1, 100, 1), reports, at(100));
        assert_eq!(seen(&published), (Scope::AllProxies, 321, 3));
        assert_eq!((published.share.taken, published.share.id), (at(95), 1));
    }

    #[test]
    fn a_hub_that_has_just_begun_does_not_take_the_first_reports_for_all() {
        let hub = Hub { since: at(90), ..HUB };
        let published = |now| hub.publish(share(1, now, 1), vec![share(2, now, 20)], at(now));
        assert_eq!(seen(&published(104)), (Scope::Proxy, 1, 1));
        assert_eq!(seen(&published(105)), (Scope::AllProxies, 21, 2));
    }

    #[test]
    fn of_proxies_that_are_configured_alike_the_one_that_hears_itself_is_the_hub() {
        let hub = Hub {
            reports_too: true,
            ..HUB
        };
        let published = |reports| hub.publish(share(1, 100, 1), reports, at(100));
        assert_eq!(seen(&published(vec![])), (Scope::Proxy, 1, 1));
        assert_eq!(seen(&published(vec![share(2, 99, 20)])), (Scope::Proxy, 1, 1));
        let both = vec![share(1, 99, 1), share(2, 99, 20)];
        assert_eq!(seen(&published(both)), (Scope::AllProxies, 21, 2), "and it counts once");
        let before = vec![share(1, 80, 1), share(2, 99, 20)];
        assert_eq!(seen(&published(before)), (Scope::Proxy, 1, 1), "it was the hub before");
    }

    #[test]
    fn a_report_that_would_spoil_the_sum_is_refused() {
        let check = |report: Share<'_>| {
            HUB.check(&report, Duration::from_secs(30), at(100))
                .map_err(|error| error.to_string())
        };
        assert_eq!(check(share(2, 90, 1)), Ok(()));
        assert_eq!(check(share(2, 60, 1)), Err("the report is of 40 s ago".into()));
        let mut long = share(2, 99, 1);
        long.span = Duration::from_secs(61);
        let words = "the report is of 61 s, and the window here is 30 s: give all proxies the same `requests.window`";
        assert_eq!(check(long), Err(words.into()));
    }
}
