//! The leader's part in counting requests: shows what it adds up, and sends the reports of this proxy to its hub.

use crate::callouts::{self, Callout, LeaderPurpose, Purpose};
use crate::host::{self, CalloutAnswer};
use crate::shared_data::{EnvoySharedData, LeaderGuard, Term};
use crate::{log, vm};
use burst_model::config::{Config, Part};
use burst_model::failure_state::FailureState;
use burst_model::hash;
use burst_model::request_rates::report::{self, ReportFailure};
use burst_model::time::Time;
use burst_shared_data::CasConflict;
use burst_shared_data::request_counts::{self, Aggregation, HubReport};
use std::rc::Rc;
use std::time::Duration;

/// A healthy hub answers within milliseconds.
const TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct RequestAggregator {
    inner: request_counts::Aggregator<EnvoySharedData>,
    failure: FailureState<ReportFailure>,
}

impl RequestAggregator {
    /// Begins with a term of leadership. `None` if the configuration counts no requests.
    pub(crate) fn start(config: &Config, term: &Rc<Term>) -> Result<Option<Self>, CasConflict> {
        let inner = request_counts::Aggregator::start(config, term)?;
        Ok(inner.map(|inner| Self {
            inner,
            failure: FailureState::default(),
        }))
    }

    /// Called once a tick.
    pub(crate) fn tick(&mut self, now: Time, guard: &LeaderGuard) -> Result<(), CasConflict> {
        self.inner.tick(now, guard, new_proxy_id).map_or(Ok(()), apply)
    }

    /// Handles the answer of the hub to a report, or why the report could not be sent.
    pub(crate) fn on_callout(&mut self, answer: Result<CalloutAnswer, String>) {
        let outcome = self.inner.on_response(answer);
        let stats = vm::stats();
        match &outcome {
            Ok(()) => stats.reports_ok.count(),
            Err(_) => stats.reports_failed.count(),
        }
        log::state_change(
            self.failure.update(outcome).as_ref(),
            "the hub does not know the requests of this proxy",
            "the hub knows the requests of this proxy again",
        );
    }
}

fn apply(aggregation: Aggregation) -> Result<(), CasConflict> {
    let stats = vm::stats();
    if let Some(hub) = aggregation.hub {
        stats.hub_proxies.set(hub.proxies as u64);
        stats.hub_report_bytes.set(hub.reports.bytes as u64);
        stats.hub_reports_late.count_all(hub.reports.late);
    }
    stats.uncounted_services.set(aggregation.excluded_services as u64);
    if let Some(taken_at) = aggregation.taken_at {
        stats.counted_timestamp.set(taken_at.unix_seconds());
    }
    if let Some(report) = aggregation.report {
        send(report);
    }
    aggregation.published
}

fn send(report: HubReport) {
    callouts::queue(Callout {
        purpose: Purpose::Leader(Part::Metrics, LeaderPurpose::Report),
        cluster: report.cluster,
        authority: report.authority,
        method: "POST",
        path: report::PATH.to_owned(),
        headers: vec![(report::HEADER, report.tally)],
        body: None,
        timeout: TIMEOUT,
        stream: None,
    });
}

/// Node ids may be empty or equal, so the time in nanoseconds is part of a proxy's number.
fn new_proxy_id() -> u64 {
    hash::of(&(host::property(&["xds", "node", "id"]), host::nanoseconds()))
}
