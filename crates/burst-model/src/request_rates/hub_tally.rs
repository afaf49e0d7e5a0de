//! The sum of all proxies' tallies, at the hub that they report to.
//!
//! Several proxies may tally a configuration and report to one address that leads to one of them. The proxy that receives
//! its own report is the hub.

use super::tally::Tally;
use super::tally_sum::TallySum;
use crate::time::Time;
use std::time::Duration;

/// How a proxy accepts reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportSettings {
    /// Since when this proxy accepts reports. Every proxy has reported only after `max_age`, so there is no sum before.
    pub since: Time,
    /// The age up to which a report counts.
    pub max_age: Duration,
    /// Whether this proxy also sends reports. Then it is the hub only if it receives its own.
    pub sends_reports: bool,
}

/// The sum of a hub, as far as reports were added.
#[derive(Clone, Debug)]
pub struct HubTally {
    settings: ReportSettings,
    own_id: u64,
    received_own_report: bool,
    /// The sum, starting with this proxy's own tally.
    pub sum: TallySum,
}

impl ReportSettings {
    /// Starts a sum with this proxy's own tally.
    #[must_use]
    pub fn begin(self, own: &Tally<'_>) -> HubTally {
        let mut total = TallySum::default();
        total.add(own);
        HubTally {
            settings: self,
            own_id: own.id,
            received_own_report: false,
            sum: total,
        }
    }
}

impl HubTally {
    /// Adds a report if it is fresh. A proxy's own report is not added: it shows that the proxy is the hub.
    pub fn add(&mut self, report: &Tally<'_>, now: Time) {
        if !report.is_fresh(now, self.settings.max_age) {
            return;
        }
        match report.id == self.own_id {
            true => self.received_own_report = true,
            false => self.sum.add(report),
        }
    }

    /// The sum of this proxy's own tally and of the reports. `None` if this proxy is not the hub, or has not been for
    /// long enough to have all reports: a partial sum must not be served.
    #[must_use]
    pub fn tally(&self, now: Time) -> Option<Tally<'_>> {
        let is_hub = !self.settings.sends_reports || self.received_own_report;
        let is_all = now.since(self.settings.since) >= self.settings.max_age;
        self.sum.tally(self.own_id).filter(|_| is_hub && is_all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_rates::RequestCounts;

    const MAX_AGE: Duration = Duration::from_secs(15);
    const HUB: ReportSettings = ReportSettings {
        since: Time::from_unix_millis(1_000),
        max_age: MAX_AGE,
        sends_reports: false,
    };

    fn at(seconds: u64) -> Time {
        Time::from_unix_millis(seconds * 1000)
    }

    fn tally(id: u64, taken: u64, requests: u64) -> Tally<'static> {
        let count = RequestCounts {
            requests,
            ..RequestCounts::default()
        };
        Tally {
            id,
            taken_at: at(taken),
            span: Duration::from_secs(30),
            services: vec![("shop/web", count)],
            addresses: None,
        }
    }

    /// The requests, and how many proxies they are of.
    fn seen(hub: ReportSettings, own: &Tally<'_>, reports: &[Tally<'_>], now: u64) -> Option<(u64, usize)> {
        let mut sum = hub.begin(own);
        reports.iter().for_each(|report| sum.add(report, at(now)));
        let requests = sum.tally(at(now))?.services[0].1.requests;
        Some((requests, sum.sum.tallies()))
    }

    #[test]
    fn the_hub_adds_up_what_is_fresh_and_is_as_old_as_the_oldest() {
        let reports = [tally(2, 95, 20), tally(3, 99, 300), tally(4, 60, 4000)];
        let mut sum = HUB.begin(&tally(1, 100, 1));
        reports.iter().for_each(|report| sum.add(report, at(100)));
        let whole = sum.tally(at(100)).unwrap();
        assert_eq!((whole.taken_at, whole.id), (at(95), 1));
        assert_eq!(seen(HUB, &tally(1, 100, 1), &reports, 100), Some((321, 3)));
        assert_eq!(seen(HUB, &tally(1, 100, 1), &[], 100), Some((1, 1)));
    }

    #[test]
    fn a_new_hub_has_no_sum_until_every_proxy_can_have_reported() {
        let hub = ReportSettings { since: at(90), ..HUB };
        let sum = |now| seen(hub, &tally(1, now, 1), &[tally(2, now, 20)], now);
        assert_eq!(sum(104), None);
        assert_eq!(sum(105), Some((21, 2)));
    }

    #[test]
    fn of_proxies_with_one_configuration_the_hub_receives_its_own_report() {
        let hub = ReportSettings {
            sends_reports: true,
            ..HUB
        };
        let sum = |reports: &[Tally<'_>]| seen(hub, &tally(1, 100, 1), reports, 100);
        assert_eq!(sum(&[]), None);
        assert_eq!(sum(&[tally(2, 99, 20)]), None);
        let both = [tally(1, 99, 1), tally(2, 99, 20)];
        assert_eq!(sum(&both), Some((21, 2)), "and it counts once");
        let before = [tally(1, 80, 1), tally(2, 99, 20)];
        assert_eq!(sum(&before), None, "it was the hub before");
    }
}
