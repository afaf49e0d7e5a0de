//! The leader's part in counting requests. It adds up what the VMs of the proxy counted, and on a hub what other proxies
//! reported. It publishes the sum, and reports the counts of its own proxy to a hub.

use super::report_store::{ReportStore, ReportStoreSummary};
use super::{MAX_VMS, is_due};
use crate::fenced_key::{FencedKey, Term};
use crate::ids::proxy_id;
use crate::leader_guard::LeaderGuard;
use crate::shared_data::{CasConflict, SharedData};
use crate::slots::Slots;
use burst_model::cluster_reader::HttpResponse;
use burst_model::config::{Config, RequestPath, RequestsConfig};
use burst_model::hash;
use burst_model::records::RequestCountKeys;
use burst_model::request_rates::report::{self, ReportFailure};
use burst_model::request_rates::{ReportSettings, Tally, TallySum};
use burst_model::time::Time;
use std::rc::Rc;

/// Adds up the counts of a proxy, for one term.
#[derive(Debug)]
pub struct Aggregator<H> {
    requests: RequestPath<RequestsConfig>,
    counting: u64,
    vms: Slots<H>,
    reports: ReportStore<H>,
    since: String,
    sum: FencedKey<H>,
    last_run: Option<Time>,
    report_under_way: bool,
}

/// What the aggregator found, and the report to send.
#[derive(Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// Services that the sum has no room for.
    pub excluded_services: usize,
    /// The end of the period that the sum covers. `None` if there is no sum.
    pub taken_at: Option<Time>,
    /// What other proxies reported, if this one accepts reports.
    pub hub: Option<HubAggregation>,
    /// The report to send. [`Aggregator::on_response`] has to follow.
    pub report: Option<HubReport>,
    /// Whether the sum was published. It is not if another VM leads now.
    pub published: Result<(), CasConflict>,
}

/// What other proxies reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HubAggregation {
    /// The proxies in the sum; 0 if there is no sum.
    pub proxies: usize,
    /// The reports in shared data.
    pub reports: ReportStoreSummary,
}

/// A report to the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubReport {
    /// The Envoy cluster of the hub.
    pub cluster: String,
    /// `:authority`.
    pub authority: String,
    /// The value of the header [`report::HEADER`].
    pub tally: String,
}

impl<H: SharedData> Aggregator<H> {
    /// Begins with a term of leadership. `None` if the configuration counts no requests.
    ///
    /// # Errors
    /// Another VM leads now.
    pub fn start(config: &Config, term: &Rc<Term<H>>) -> Result<Option<Self>, CasConflict> {
        let Some(requests) = config.requests.clone() else {
            return Ok(None);
        };
        let counting = config.metrics_hash();
        let keys = RequestCountKeys::new(counting);
        let (sum, _) = FencedKey::open(&keys.sum, term)?;
        let reports = ReportStore::new(keys.clone());
        if requests.accept.is_some() {
            reports.sweep();
        }
        Ok(Some(Self {
            requests,
            counting,
            vms: Slots::new(keys.vms, MAX_VMS),
            since: keys.since.clone(),
            reports,
            sum,
            last_run: None,
            report_under_way: false,
        }))
    }

    /// Called once a tick. `None` if nothing is due. A proxy that has no number yet takes `new_proxy_id`.
    pub fn tick(
        &mut self,
        now: Time,
        guard: &LeaderGuard<H>,
        new_proxy_id: impl FnOnce() -> u64,
    ) -> Option<Aggregation> {
        if !is_due(self.last_run, self.requests.report_interval, now) {
            return None;
        }
        let proxy = proxy_id::<H>(new_proxy_id)?;
        self.last_run = Some(now);
        let id = hash::of(&(proxy, self.counting));
        let vms = self.vms(now, guard);
        let Some(own) = vms.tally(id) else {
            return Some(self.publish(None, &vms));
        };
        let report = self.report(&own, now);
        let aggregation = if self.requests.accept.is_some() {
            self.add_up(&own, now, guard)
        } else {
            self.publish(Some(&own), &vms)
        };
        Some(Aggregation { report, ..aggregation })
    }

    /// The sum of what the VMs counted. Empties the slots of VMs that are gone.
    fn vms(&self, now: Time, guard: &LeaderGuard<H>) -> TallySum {
        let (mut total, patience) = (TallySum::default(), self.requests.worker_report_max_age());
        for (slot, found) in self.vms.all().filter(|(_, found)| !found.bytes.is_empty()) {
            if !guard.admits(&found.bytes) {
                continue;
            }
            match Tally::parse(&found.bytes) {
                Ok(tally) if tally.is_fresh(now, patience) => total.add(&tally),
                _ => self.vms.release(slot, &found),
            }
        }
        total
    }

    fn add_up(&mut self, own: &Tally<'_>, now: Time, guard: &LeaderGuard<H>) -> Aggregation {
        let max_age = self.requests.proxy_report_max_age();
        let settings = ReportSettings {
            since: self.since(now),
            max_age,
            sends_reports: self.requests.hub.is_some(),
        };
        let mut all = settings.begin(own);
        let reports = self.reports.add_to(&mut all, guard, max_age, now);
        let tally = all.tally(now);
        let proxies = tally.as_ref().map_or(0, |_| all.sum.tallies());
        Aggregation {
            hub: Some(HubAggregation { proxies, reports }),
            ..self.publish(tally.as_ref(), &all.sum)
        }
    }

    fn publish(&mut self, tally: Option<&Tally<'_>>, total: &TallySum) -> Aggregation {
        let text = tally.map(Tally::to_text).unwrap_or_default();
        Aggregation {
            excluded_services: total.excluded(),
            taken_at: tally.map(|tally| tally.taken_at),
            hub: None,
            report: None,
            published: self.sum.write(text.as_bytes()),
        }
    }

    /// When this proxy began to take reports. A time in the future comes from a clock that was set back.
    fn since(&self, now: Time) -> Time {
        let found = H::read(&self.since);
        let since = found.bytes.first_chunk().copied().map(u64::from_le_bytes);
        let since = since.map(Time::from_unix_millis).filter(|since| *since <= now);
        since.unwrap_or_else(|| {
            let _ = H::compare_and_set(&self.since, &now.unix_millis().to_le_bytes(), found.cas);
            now
        })
    }

    fn report(&mut self, own: &Tally<'_>, now: Time) -> Option<HubReport> {
        let hub = self.requests.hub.as_ref().filter(|_| !self.report_under_way)?;
        self.report_under_way = true;
        Some(HubReport {
            cluster: hub.cluster.clone(),
            authority: hub.authority.clone(),
            tally: own.to_report(now),
        })
    }

    /// Handles the answer of the hub to a report, or why the report could not be sent.
    ///
    /// # Errors
    /// The hub did not accept the report.
    pub fn on_response(&mut self, answer: Result<impl HttpResponse, String>) -> Result<(), ReportFailure> {
        self.report_under_way = false;
        match answer {
            Ok(answer) => report::parse_response(answer.status(), &answer.body(usize::MAX)),
            Err(reason) => Err(ReportFailure::NotSent(reason)),
        }
    }
}
