//! The leader's part: it adds up what the VMs of the proxy counted, and, at the hub, what other proxies report; it
//! publishes the sum and reports its own part.

use super::counter::is_due;
use super::reports::ReportStore;
use super::{MOST_VMS, Slots};
use crate::host::{self, CasConflict, SharedValue};
use crate::key::{FencedKey, Term};
use crate::log;
use crate::quarantine::LeaderGuard;
use crate::vm;
use burst_model::config::{Config, Full, Requests};
use burst_model::hash;
use burst_model::records::{PROXY_KEY, RequestCountKeys};
use burst_model::request_rates::report::{self, ReportFailure};
use burst_model::request_rates::{ReportSettings, Tally, TallySum};
use burst_model::time::Time;
use std::rc::Rc;
use std::time::Duration;

/// A hub that is well answers within milliseconds.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The leader's part in counting.
#[derive(Debug)]
pub(crate) struct Aggregator {
    requests: Full<Requests>,
    counting: u64,
    vms: Slots,
    reports: ReportStore,
    since: String,
    sum: FencedKey,
    done: Option<Time>,
    /// The report that is under way.
    call: Option<u32>,
    trouble: Option<ReportFailure>,
}

impl Aggregator {
    /// Takes over, where requests are counted.
    pub(crate) fn start(config: &Config, tenure: &Rc<Term>) -> Result<Option<Self>, CasConflict> {
        let Some(requests) = config.requests.clone() else {
            return Ok(None);
        };
        let counting = config.counting_hash();
        let keys = RequestCountKeys::new(counting);
        let (sum, _) = FencedKey::open(&keys.sum, tenure)?;
        let reports = ReportStore::new(keys.clone());
        if requests.accept.is_some() {
            reports.sweep();
        }
        Ok(Some(Self {
            requests,
            counting,
            vms: Slots::new(keys.vms, MOST_VMS),
            since: keys.since.clone(),
            reports,
            sum,
            done: None,
            call: None,
            trouble: None,
        }))
    }

    /// Once a tick.
    pub(crate) fn tick(&mut self, now: Time, guard: &LeaderGuard) -> Result<(), CasConflict> {
        if !is_due(self.done, self.requests.report_interval, now) {
            return Ok(());
        }
        let Some(proxy) = proxy_id() else { return Ok(()) };
        self.done = Some(now);
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

    /// The sum of what the VMs counted; the places of those that are gone are emptied.
    fn vms(&self, now: Time, guard: &LeaderGuard) -> TallySum {
        let (mut total, patience) = (TallySum::default(), self.requests.vm_patience());
        for (place, found) in self.vms.all().filter(|(_, found)| !found.bytes.is_empty()) {
            if !guard.admits(&found.bytes) {
                continue;
            }
            match Tally::parse(&found.bytes) {
                Ok(share) if share.is_fresh(now, patience) => total.add(&share),
                _ => {
                    self.vms.free(place, &found);
                }
            }
        }
        total
    }

    fn add_up(&mut self, own: &Tally<'_>, now: Time, guard: &LeaderGuard) -> Result<(), CasConflict> {
        let patience = self.requests.report_patience();
        let stats = vm::stats();
        let hub = ReportSettings {
            since: self.since(now),
            max_age: patience,
            sends_reports: self.requests.hub.is_some(),
        };
        let mut all = hub.begin(own);
        self.reports.add_to(&mut all, &stats, guard, patience, now);
        let share = all.tally(now);
        stats.show_proxies(share.as_ref().map_or(0, |_| all.sum.tallies()));
        self.publish(share.as_ref(), &all.sum)
    }

    fn publish(&mut self, share: Option<&Tally<'_>>, total: &TallySum) -> Result<(), CasConflict> {
        vm::stats().show_uncounted(total.excluded());
        if let Some(share) = share {
            vm::stats().show_counted(share.taken_at);
        }
        let text = share.map(Tally::to_text).unwrap_or_default();
        self.sum.write(text.as_bytes())
    }

    /// Since when this proxy takes reports. A moment that lies ahead is of a clock that was set back.
    fn since(&self, now: Time) -> Time {
        let found = SharedValue::read(&self.since);
        let since = found.bytes.first_chunk().copied().map(u64::from_le_bytes);
        let since = since.map(Time::from_unix_millis).filter(|since| *since <= now);
        since.unwrap_or_else(|| {
            let _ = host::compare_and_set(&self.since, &now.unix_millis().to_le_bytes(), found.cas);
            now
        })
    }

    fn report(&mut self, own: &Tally<'_>, now: Time) {
        let Some(hub) = &self.requests.hub else { return };
        if self.call.is_some() {
            return;
        }
        let text = own.to_report(now);
        let sent = host::report(
            &hub.cluster,
            &hub.authority,
            report::PATH,
            (report::HEADER, &text),
            TIMEOUT,
        );
        match sent {
            Ok(token) => self.call = Some(token),
            Err(reason) => self.report_outcome(Err(ReportFailure::NotSent(format!("{reason} ({})", hub.cluster)))),
        }
    }

    /// Takes the answer to a callout, which is the current one of the host; whether it was a report's.
    pub(crate) fn answer(&mut self, token: u32, has_headers: bool, body_size: usize) -> bool {
        if self.call != Some(token) {
            return false;
        }
        self.call = None;
        let status = host::callout_status(has_headers);
        self.report_outcome(report::parse_response(status, &host::callout_body(body_size)));
        true
    }

    /// One line for a change of state, not one for every failure.
    fn report_outcome(&mut self, outcome: Result<(), ReportFailure>) {
        let stats = vm::stats();
        match &outcome {
            Ok(()) => stats.reports_ok.count(),
            Err(_) => stats.reports_failed.count(),
        }
        let trouble = outcome.err();
        match &trouble {
            Some(trouble) if self.trouble.as_ref() != Some(trouble) => {
                log::warn(format_args!(
                    "the hub does not know of this proxy's requests: {trouble}"
                ));
            }
            None if self.trouble.is_some() => log::info(format_args!("the hub knows of this proxy's requests again")),
            _ => {}
        }
        self.trouble = trouble;
    }
}

/// The number of this proxy. Node ids may be empty, or the same everywhere; the time in nanoseconds is not.
fn proxy_id() -> Option<u64> {
    let found = SharedValue::read(PROXY_KEY);
    if let Some(id) = found.bytes.first_chunk().copied() {
        return Some(u64::from_le_bytes(id));
    }
    let id = hash::of(&(host::property(&["xds", "node", "id"]), host::nanoseconds()));
    host::compare_and_set(PROXY_KEY, &id.to_le_bytes(), found.cas)
        .ok()
        .map(|()| id)
}
