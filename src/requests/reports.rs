//! The reports of other proxies in shared data: each in a place of its own, and an index of them. The index is written
//! first, so a place holds at any time what the index says, or what stood there before.

use crate::host::{self, Shared};
use crate::quarantine::Guard;
use crate::stats::Stats;
use burst_model::rates::report_index::{MOST_REPORTS, NoRoom, ReportIndex};
use burst_model::rates::{HubTotal, Share};
use burst_model::records::{CountKeys, Record};
use burst_model::time::Time;
use std::time::Duration;

/// Others who may be faster, one after the other, before a write is given up.
const TRIES: usize = 8;

#[derive(Debug)]
pub(super) struct Reports {
    index: String,
    prefix: String,
}

impl Reports {
    pub(super) fn new(keys: CountKeys) -> Self {
        Self {
            index: keys.report_index,
            prefix: keys.reports,
        }
    }

    fn key(&self, place: usize) -> String {
        format!("{}/{place}", self.prefix)
    }

    fn read(&self) -> (ReportIndex, Shared) {
        let found = Shared::read(&self.index);
        (ReportIndex::read(&found.bytes), found)
    }

    /// Keeps a report that came just now.
    pub(super) fn put(&self, reporter: u64, report: &Share<'_>, stats: &Stats, now: Time) -> Result<(), NoRoom> {
        let text = report.to_text();
        for _ in 0..TRIES {
            let (mut index, found) = self.read();
            let admitted = index.admit(reporter, report.id, text.len(), now)?;
            if host::share(&self.index, &index.to_bytes(), found.cas).is_err() {
                continue;
            }
            for place in admitted.emptied {
                host::share_over(&self.key(place), &[]);
            }
            stats.hub_reports_evicted.count_all(admitted.evicted);
            host::share_over(&self.key(admitted.place), text.as_bytes());
            return Ok(());
        }
        Err(NoRoom)
    }

    /// Adds up what is recent, one report at a time; the places of the rest are emptied.
    pub(super) fn add_to(&self, total: &mut HubTotal, stats: &Stats, guard: &Guard, patience: Duration, now: Time) {
        let (mut index, found) = self.read();
        let late = index.expire(patience, now);
        if !late.is_empty() && host::share(&self.index, &index.to_bytes(), found.cas).is_ok() {
            stats.hub_reports_late.count_all(late.len());
            for place in late {
                host::share_over(&self.key(place), &[]);
            }
        }
        stats.show_report_bytes(index.bytes());
        for kept in index.in_order() {
            let found = Shared::read(&self.key(kept.place));
            if !guard.admits(&found.bytes) {
                continue;
            }
            match Share::parse(&found.bytes) {
                Ok(report) if report.id == kept.id => total.add(&report, now),
                _ => {}
            }
        }
    }

    /// Empties the places that are in no index: if it is lost, they would stay as they are.
    pub(super) fn sweep(&self) {
        let is_used = |place: &usize| !Shared::read(&self.key(*place)).bytes.is_empty();
        let used: Vec<_> = (0..MOST_REPORTS).filter(is_used).collect();
        // After the places: the index is written before them, so that of a report that comes meanwhile is in it.
        let (index, _) = self.read();
        for place in used.into_iter().filter(|place| !index.has(*place)) {
            host::share_over(&self.key(place), &[]);
        }
    }
}
