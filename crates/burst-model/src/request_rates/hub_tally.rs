//! The proxy that others report to, and that so knows of all requests.
//!
//! Several proxies may be configured alike and report to one address, which leads to one of them: that one finds its
//! own report among those that came, and so knows that it is the hub. The others know that they are not.

use super::tally::Tally;
use super::tally_sum::TallySum;
use crate::time::Time;
use std::time::Duration;

/// How reports are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportSettings {
    /// Since when they come here. Only after `patience` has every proxy had the time to report: before that the sum
    /// would be too small.
    pub since: Time,
    /// The age from which a report counts no more.
    pub patience: Duration,
    /// Whether this proxy reports as well: then it is the hub only if its own reports come here.
    pub reports_too: bool,
}

/// What the hub has of all proxies, as far as their reports were added.
#[derive(Clone, Debug)]
pub struct HubTally {
    hub: ReportSettings,
    own: u64,
    hears_itself: bool,
    /// The sum, this proxy's own counts first.
    pub total: TallySum,
}

impl ReportSettings {
    /// Begins with this proxy's own share.
    #[must_use]
    pub fn begin(self, own: &Tally<'_>) -> HubTally {
        let mut total = TallySum::default();
        total.add(own);
        HubTally {
            hub: self,
            own: own.id,
            hears_itself: false,
            total,
        }
    }
}

impl HubTally {
    /// Adds a report that came, if it is fresh; its own tells the proxy that it is the hub.
    pub fn add(&mut self, report: &Tally<'_>, now: Time) {
        if !report.is_fresh(now, self.hub.patience) {
            return;
        }
        match report.id == self.own {
            true => self.hears_itself = true,
            false => self.total.add(report),
        }
    }

    /// The sum of this proxy's own share and of the reports; `None` where it is not the hub, or not for long enough:
    /// nobody may take a part for the whole.
    #[must_use]
    pub fn tally(&self, now: Time) -> Option<Tally<'_>> {
        let is_hub = !self.hub.reports_too || self.hears_itself;
        let is_all = now.since(self.hub.since) >= self.hub.patience;
        self.total.tally(self.own).filter(|_| is_hub && is_all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_rates::RequestCounts;

    const PATIENCE: Duration = Duration::from_secs(15);
    const HUB: ReportSettings = ReportSettings {
        since: Time::from_unix_millis(1_000),
        patience: PATIENCE,
        reports_too: false,
    };

    fn at(seconds: u64) -> Time {
        Time::from_unix_millis(seconds * 1000)
    }

    fn share(id: u64, taken: u64, requests: u64) -> Tally<'static> {
        let count = RequestCounts {
            requests,
            ..RequestCounts::default()
        };
        Tally {
            id,
            taken: at(taken),
            span: Duration::from_secs(30),
            services: vec![("shop/web", count)],
        }
    }

    /// The requests, and how many proxies they are of.
    fn seen(hub: ReportSettings, own: &Tally<'_>, reports: &[Tally<'_>], now: u64) -> Option<(u64, usize)> {
        let mut sum = hub.begin(own);
        reports.iter().for_each(|report| sum.add(report, at(now)));
        let requests = sum.tally(at(now))?.services[0].1.requests;
        Some((requests, sum.total.tallies()))
    }

    #[test]
    fn the_hub_adds_up_what_is_fresh_and_is_as_old_as_the_oldest() {
        let reports = [share(2, 95, 20), share(3, 99, 300), share(4, 60, 4000)];
        let mut sum = HUB.begin(&share(1, 100, 1));
        reports.iter().for_each(|report| sum.add(report, at(100)));
        let whole = sum.tally(at(100)).unwrap();
        assert_eq!((whole.taken, whole.id), (at(95), 1));
        assert_eq!(seen(HUB, &share(1, 100, 1), &reports, 100), Some((321, 3)));
        assert_eq!(seen(HUB, &share(1, 100, 1), &[], 100), Some((1, 1)));
    }

    #[test]
    fn a_hub_that_has_just_begun_does_not_take_the_first_reports_for_all() {
        let hub = ReportSettings { since: at(90), ..HUB };
        let sum = |now| seen(hub, &share(1, now, 1), &[share(2, now, 20)], now);
        assert_eq!(sum(104), None);
        assert_eq!(sum(105), Some((21, 2)));
    }

    #[test]
    fn of_proxies_that_are_configured_alike_the_one_that_hears_itself_is_the_hub() {
        let hub = ReportSettings {
            reports_too: true,
            ..HUB
        };
        let sum = |reports: &[Tally<'_>]| seen(hub, &share(1, 100, 1), reports, 100);
        assert_eq!(sum(&[]), None);
        assert_eq!(sum(&[share(2, 99, 20)]), None);
        let both = [share(1, 99, 1), share(2, 99, 20)];
        assert_eq!(sum(&both), Some((21, 2)), "and it counts once");
        let before = [share(1, 80, 1), share(2, 99, 20)];
        assert_eq!(sum(&before), None, "it was the hub before");
    }
}
