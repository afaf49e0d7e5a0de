//! The reports of other proxies in shared data: each in a place of its own, and an index of them. The index is written
//! first, so a place holds at any time what the index says, or what stood there before.

use crate::host::{self, SharedValue};
use crate::quarantine::LeaderGuard;
use crate::stats::Stats;
use burst_model::records::{Record, RequestCountKeys};
use burst_model::request_rates::report_index::{MAX_REPORTS, ReportIndex, ReportsFull};
use burst_model::request_rates::{HubTally, Tally};
use burst_model::time::Time;
use std::time::Duration;

/// Others who may be faster, one after the other, before a write is given up.
const TRIES: usize = 8;

#[derive(Debug)]
pub(super) struct ReportStore {
    index: String,
    prefix: String,
}

impl ReportStore {
    pub(super) fn new(keys: RequestCountKeys) -> Self {
        Self {
            index: keys.report_index,
            prefix: keys.reports,
        }
    }

    fn key(&self, place: usize) -> String {
        format!("{}/{place}", self.prefix)
    }

    fn read(&self) -> (ReportIndex, SharedValue) {
        let found = SharedValue::read(&self.index);
        (ReportIndex::read(&found.bytes), found)
    }

    /// Keeps a report that came just now.
    pub(super) fn put(&self, reporter: u64, report: &Tally<'_>, stats: &Stats, now: Time) -> Result<(), ReportsFull> {
        let text = report.to_text();
        for _ in 0..TRIES {
            let (mut index, found) = self.read();
            let admitted = index.admit(reporter, report.id, text.len(), now)?;
            if host::compare_and_set(&self.index, &index.to_bytes(), found.cas).is_err() {
                continue;
            }
            for place in admitted.freed {
                host::overwrite(&self.key(place), &[]);
            }
            stats.hub_reports_evicted.count_all(admitted.evicted);
            host::overwrite(&self.key(admitted.slot), text.as_bytes());
            return Ok(());
        }
        Err(ReportsFull)
    }

    /// Adds up what is recent, one report at a time; the places of the rest are emptied.
    pub(super) fn add_to(
        &self,
        total: &mut HubTally,
        stats: &Stats,
        guard: &LeaderGuard,
        patience: Duration,
        now: Time,
    ) {
        let (mut index, found) = self.read();
        let late = index.expire(patience, now);
        if !late.is_empty() && host::compare_and_set(&self.index, &index.to_bytes(), found.cas).is_ok() {
            stats.hub_reports_late.count_all(late.len());
            for place in late {
                host::overwrite(&self.key(place), &[]);
            }
        }
        stats.show_report_bytes(index.bytes());
        for kept in index.by_usage() {
            let found = SharedValue::read(&self.key(kept.slot));
            if !guard.admits(&found.bytes) {
                continue;
            }
            match Tally::parse(&found.bytes) {
                Ok(report) if report.id == kept.id => total.add(&report, now),
                _ => {}
            }
        }
    }

    /// Empties the places that are in no index: if it is lost, they would stay as they are.
    pub(super) fn sweep(&self) {
        let is_used = |place: &usize| !SharedValue::read(&self.key(*place)).bytes.is_empty();
        let used: Vec<_> = (0..MAX_REPORTS).filter(is_used).collect();
        // After the places: the index is written before them, so that of a report that comes meanwhile is in it.
        let (index, _) = self.read();
        for place in used.into_iter().filter(|place| !index.is_used(*place)) {
            host::overwrite(&self.key(place), &[]);
        }
    }
}
