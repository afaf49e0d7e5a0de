//! The reports of other proxies in shared data: one key for each, and an index of them. The index is written first. So a
//! slot holds what the index says, or what it held before.

use crate::leader_guard::LeaderGuard;
use crate::shared_data::SharedData;
use crate::slots::slot_key;
use burst_model::records::{Record, RequestCountKeys};
use burst_model::request_rates::report_index::{MAX_REPORTS, ReportIndex, ReportsFull};
use burst_model::request_rates::{HubTally, Tally};
use burst_model::time::Time;
use std::marker::PhantomData;
use std::time::Duration;

/// The reports of other proxies in shared data.
#[derive(Debug)]
pub struct ReportStore<H> {
    index: String,
    prefix: String,
    host: PhantomData<H>,
}

/// The reports that [`ReportStore::add_to`] found in shared data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportStoreSummary {
    /// Bytes of all reports.
    pub bytes: usize,
    /// How many were too old and were removed.
    pub late: usize,
}

impl<H: SharedData> ReportStore<H> {
    /// The store under these keys.
    #[must_use]
    pub fn new(keys: RequestCountKeys) -> Self {
        Self {
            index: keys.report_index,
            prefix: keys.reports,
            host: PhantomData,
        }
    }

    fn key(&self, slot: usize) -> String {
        slot_key(&self.prefix, slot)
    }

    /// Stores a report that has just come. Returns how many reports were evicted for it.
    ///
    /// # Errors
    /// There is no room for it.
    pub fn put(&self, reporter: u64, report: &Tally<'_>, now: Time) -> Result<usize, ReportsFull> {
        let text = report.to_text();
        let admitted = H::update(&self.index, |bytes| {
            let mut index = ReportIndex::read(bytes);
            let admitted = index.admit(reporter, report.id, text.len(), now)?;
            Ok((index.to_bytes(), admitted))
        });
        let admitted = admitted.unwrap_or(Err(ReportsFull))?;
        for slot in admitted.freed {
            H::overwrite(&self.key(slot), &[]);
        }
        H::overwrite(&self.key(admitted.slot), text.as_bytes());
        Ok(admitted.evicted)
    }

    /// Adds recent reports to `total`, one at a time, and empties the slots of the others.
    pub fn add_to(
        &self,
        total: &mut HubTally,
        guard: &LeaderGuard<H>,
        patience: Duration,
        now: Time,
    ) -> ReportStoreSummary {
        let found = H::read(&self.index);
        let mut index = ReportIndex::read(&found.bytes);
        let late = index.expire(patience, now);
        let mut reports = ReportStoreSummary {
            bytes: index.bytes(),
            late: 0,
        };
        if !late.is_empty() && H::compare_and_set(&self.index, &index.to_bytes(), found.cas).is_ok() {
            reports.late = late.len();
            for slot in late {
                H::overwrite(&self.key(slot), &[]);
            }
        }
        for stored in index.by_usage() {
            let bytes = H::read(&self.key(stored.slot)).bytes;
            if !guard.admits(&bytes) {
                continue;
            }
            match Tally::parse(&bytes) {
                Ok(report) if report.id == stored.id => total.add(&report, now),
                _ => {}
            }
        }
        reports
    }

    /// Empties the slots that the index does not name. They would stay if the index was lost.
    pub fn sweep(&self) {
        let is_used = |slot: &usize| !H::read(&self.key(*slot)).bytes.is_empty();
        let used: Vec<_> = (0..MAX_REPORTS).filter(is_used).collect();
        // Read after the slots: the index is written before a slot, so it names a report that comes meanwhile.
        let index = ReportIndex::read(&H::read(&self.index).bytes);
        for slot in used.into_iter().filter(|slot| !index.is_used(*slot)) {
            H::overwrite(&self.key(slot), &[]);
        }
    }
}
