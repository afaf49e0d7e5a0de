//! The leader's part in counting requests. It adds up what the VMs of the proxy counted, and on a hub what other proxies
//! reported. It publishes the sum, and reports the counts of its own proxy to a hub.

use super::{MAX_VMS, is_due};
use crate::callouts::{self, Callout, LeaderPurpose, Purpose};
use crate::host::CalloutAnswer;
use crate::shared_data::{EnvoySharedData, FencedKey, LeaderGuard, ReportStore, Slots, Term, proxy_id};
use crate::{log, vm};
use burst_model::cluster_reader::HttpResponse;
use burst_model::config::{Config, RequestPath, RequestsConfig};
use burst_model::failure_state::{FailureState, StateChange};
use burst_model::hash;
use burst_model::records::RequestCountKeys;
use burst_model::request_rates::report::{self, ReportFailure};
use burst_model::request_rates::{ReportSettings, Tally, TallySum};
use burst_model::time::Time;
use burst_shared_data::{CasConflict, SharedData};
use std::rc::Rc;
use std::time::Duration;

/// A healthy hub answers within milliseconds.
const TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Aggregator {
    requests: RequestPath<RequestsConfig>,
    counting: u64,
    vms: Slots,
    reports: ReportStore,
    since: String,
    sum: FencedKey,
    last_run: Option<Time>,
    report_under_way: bool,
    failure: FailureState<ReportFailure>,
}

impl Aggregator {
    /// Begins with a term of leadership. `None` if the configuration counts no requests.
    pub(crate) fn start(config: &Config, term: &Rc<Term>) -> Result<Option<Self>, CasConflict> {
        let Some(requests) = config.requests.clone() else {
            return Ok(None);
        };
        let counting = config.counting_hash();
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
            failure: FailureState::default(),
        }))
    }

    /// Called once a tick.
    pub(crate) fn tick(&mut self, now: Time, guard: &LeaderGuard) -> Result<(), CasConflict> {
        if !is_due(self.last_run, self.requests.report_interval, now) {
            return Ok(());
        }
        let Some(proxy) = proxy_id() else { return Ok(()) };
        self.last_run = Some(now);
        let id = hash::of(&(proxy, self.counting));
        let vms = self.vms(now, guard);
        let Some(own) = vms.tally(id) else {
            return self.publish(None, &vms);
        };
        self.report(&own, now);
        if self.requests.accept.is_none() {
            return self.publish(Some(&own), &vms);
        }
        self.add_up(&own, now, guard)
    }

    /// The sum of what the VMs counted. Empties the slots of VMs that are gone.
    fn vms(&self, now: Time, guard: &LeaderGuard) -> TallySum {
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

    fn add_up(&mut self, own: &Tally<'_>, now: Time, guard: &LeaderGuard) -> Result<(), CasConflict> {
        let patience = self.requests.proxy_report_max_age();
        let stats = vm::stats();
        let hub = ReportSettings {
            since: self.since(now),
            max_age: patience,
            sends_reports: self.requests.hub.is_some(),
        };
        let mut all = hub.begin(own);
        let reports = self.reports.add_to(&mut all, guard, patience, now);
        stats.hub_reports_late.count_all(reports.late);
        stats.hub_report_bytes.set(reports.bytes as u64);
        let tally = all.tally(now);
        let proxies = tally.as_ref().map_or(0, |_| all.sum.tallies());
        stats.hub_proxies.set(proxies as u64);
        self.publish(tally.as_ref(), &all.sum)
    }

    fn publish(&mut self, tally: Option<&Tally<'_>>, total: &TallySum) -> Result<(), CasConflict> {
        let stats = vm::stats();
        stats.uncounted_services.set(total.excluded() as u64);
        if let Some(tally) = tally {
            stats.counted_timestamp.set(tally.taken_at.unix_seconds());
        }
        let text = tally.map(Tally::to_text).unwrap_or_default();
        self.sum.write(text.as_bytes())
    }

    /// When this proxy began to take reports. A time in the future comes from a clock that was set back.
    fn since(&self, now: Time) -> Time {
        let found = EnvoySharedData::read(&self.since);
        let since = found.bytes.first_chunk().copied().map(u64::from_le_bytes);
        let since = since.map(Time::from_unix_millis).filter(|since| *since <= now);
        since.unwrap_or_else(|| {
            let _ = EnvoySharedData::compare_and_set(&self.since, &now.unix_millis().to_le_bytes(), found.cas);
            now
        })
    }

    fn report(&mut self, own: &Tally<'_>, now: Time) {
        let Some(hub) = self.requests.hub.as_ref().filter(|_| !self.report_under_way) else {
            return;
        };
        self.report_under_way = true;
        callouts::queue(Callout {
            purpose: Purpose::Leader(LeaderPurpose::Report),
            cluster: hub.cluster.clone(),
            authority: hub.authority.clone(),
            method: "POST",
            path: report::PATH.to_owned(),
            headers: vec![(report::HEADER, own.to_report(now))],
            body: None,
            timeout: TIMEOUT,
        });
    }

    /// Handles the answer of the hub to a report, or why the report could not be sent.
    pub(crate) fn on_callout(&mut self, answer: Result<CalloutAnswer, String>) {
        self.report_under_way = false;
        let outcome = match answer {
            Ok(answer) => report::parse_response(answer.status(), &answer.body(usize::MAX)),
            Err(reason) => Err(ReportFailure::NotSent(reason)),
        };
        let stats = vm::stats();
        match &outcome {
            Ok(()) => stats.reports_ok.count(),
            Err(_) => stats.reports_failed.count(),
        }
        match self.failure.update(outcome) {
            Some(StateChange::Failed(failure)) => {
                log::warn(format_args!(
                    "the hub does not know the requests of this proxy: {failure}"
                ));
            }
            Some(StateChange::Recovered) => log::info(format_args!("the hub knows the requests of this proxy again")),
            None => {}
        }
    }
}
