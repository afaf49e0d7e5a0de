//! The reports of other proxies in shared data: one key for each, and an index of them. The index is written first. So a
//! slot holds what the index says, or what it held before.

use crate::leader_guard::LeaderGuard;
use crate::shared_data::{self, SharedValue, Slots, overwrite};
use crate::stats::Stats;
use burst_model::records::{Record, RequestCountKeys};
use burst_model::request_rates::report_index::{MAX_REPORTS, ReportIndex, ReportsFull};
use burst_model::request_rates::{HubTally, Tally};
use burst_model::time::Time;
use std::time::Duration;

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

    fn key(&self, slot: usize) -> String {
        Slots::key(&self.prefix, slot)
    }

    /// Stores a report that has just come.
    pub(super) fn put(&self, reporter: u64, report: &Tally<'_>, stats: &Stats, now: Time) -> Result<(), ReportsFull> {
        let text = report.to_text();
        let admitted = shared_data::update(&self.index, |bytes| {
            let mut index = ReportIndex::read(bytes);
            let admitted = index.admit(reporter, report.id, text.len(), now)?;
            Ok((index.to_bytes(), admitted))
        });
        let admitted = admitted.unwrap_or(Err(ReportsFull))?;
        for slot in admitted.freed {
            overwrite(&self.key(slot), &[]);
        }
        stats.hub_reports_evicted.count_all(admitted.evicted);
        overwrite(&self.key(admitted.slot), text.as_bytes());
        Ok(())
    }

    /// Adds recent reports to `total`, one at a time, and empties the slots of the others.
    pub(super) fn add_to(
        &self,
        total: &mut HubTally,
        stats: &Stats,
        guard: &LeaderGuard,
        patience: Duration,
        now: Time,
    ) {
        let found = SharedValue::read(&self.index);
        let mut index = ReportIndex::read(&found.bytes);
        let late = index.expire(patience, now);
        if !late.is_empty() && shared_data::compare_and_set(&self.index, &index.to_bytes(), found.cas).is_ok() {
            stats.hub_reports_late.count_all(late.len());
            for slot in late {
                overwrite(&self.key(slot), &[]);
            }
        }
        stats.hub_report_bytes.set(index.bytes() as u64);
        for stored in index.by_usage() {
            let bytes = SharedValue::read(&self.key(stored.slot)).bytes;
            if !guard.admits(&bytes) {
                continue;
            }
            match Tally::parse(&bytes) {
                Ok(report) if report.id == stored.id => total.add(&report, now),
                _ => {}
            }
        }
    }

    /// Empties the slots that the index does not name. They would stay if the index was lost.
    pub(super) fn sweep(&self) {
        let is_used = |slot: &usize| !SharedValue::read(&self.key(*slot)).bytes.is_empty();
        let used: Vec<_> = (0..MAX_REPORTS).filter(is_used).collect();
        // Read after the slots: the index is written before a slot, so it names a report that comes meanwhile.
        let index = ReportIndex::read(&SharedValue::read(&self.index).bytes);
        for slot in used.into_iter().filter(|slot| !index.is_used(*slot)) {
            overwrite(&self.key(slot), &[]);
        }
    }
}
