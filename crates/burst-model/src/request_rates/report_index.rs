//! The reports that the hub keeps, their reporters, and their slots in shared data.
//!
//! The number and the bytes of all reports are limited. At a limit, a new report evicts a report of the reporter that uses
//! the most, or is refused if that is its own reporter. So a reporter that sends much evicts only its own reports.
//!
//! A reporter is identified by its certificate. A proxy chooses its own id, so ids only tell the reports of one reporter
//! apart. Proxies whose certificates have the same name are one reporter.

use crate::records::Record;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The most reports that are stored.
pub const MAX_REPORTS: usize = 512;

/// The most bytes that all reports may have together.
pub const MAX_BYTES: usize = 32 << 20;

/// The reports that are stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportIndex(Vec<StoredReport>);

/// A report that is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredReport {
    /// Its slot in shared data.
    pub slot: usize,
    /// A hash of the name in the reporter's certificate.
    reporter: u64,
    /// The id of the proxy.
    pub id: u64,
    bytes: usize,
    received_at: Time,
}

/// Where to store a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmittedReport {
    /// Its slot in shared data.
    pub slot: usize,
    /// Slots whose reports were evicted, and that are free now.
    pub freed: Vec<usize>,
    /// How many reports were evicted.
    pub evicted: usize,
}

/// The limits are reached, and no other reporter uses more than this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "too many reports: at most {MAX_REPORTS}, of {MAX_BYTES} bytes together, are stored, and no other certificate has more \
     of them than this one"
)]
pub struct ReportsFull;

/// How much a reporter uses.
#[derive(Clone, Copy, Debug)]
struct ReporterUsage {
    reporter: u64,
    reports: usize,
    bytes: usize,
}

impl Record for ReportIndex {}

impl ReportIndex {
    /// Parses the index from shared data. Invalid bytes give an empty index.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Self {
        Self::from_bytes(bytes).filter(Self::is_consistent).unwrap_or_default()
    }

    /// Returns whether each report has a valid slot of its own.
    fn is_consistent(&self) -> bool {
        let mut taken = [false; MAX_REPORTS];
        let mut take = |slot: usize| taken.get_mut(slot).is_some_and(|taken| !std::mem::replace(taken, true));
        self.0.iter().all(|stored| take(stored.slot))
    }

    /// Finds a slot for a report that was received at `now`. It replaces the last report of the same proxy. A refused
    /// report changes nothing.
    ///
    /// # Errors
    /// The limits are reached, and no other reporter uses more than this one.
    pub fn admit(&mut self, reporter: u64, id: u64, bytes: usize, now: Time) -> Result<AdmittedReport, ReportsFull> {
        let mut stored = self.0.clone();
        let is_same = |stored: &StoredReport| stored.reporter == reporter && stored.id == id;
        let own = stored.iter().position(is_same).map(|at| stored.swap_remove(at).slot);
        let mut evicted = Vec::new();
        while let Some(full) = ExceededLimit::of(&stored, bytes) {
            evicted.push(evict(&mut stored, full, reporter, bytes).ok_or(ReportsFull)?);
        }
        let count = evicted.len();
        let slot = own
            .or_else(|| evicted.pop())
            .unwrap_or_else(|| first_free_slot(&stored));
        stored.push(StoredReport {
            slot,
            reporter,
            id,
            bytes,
            received_at: now,
        });
        self.0 = stored;
        Ok(AdmittedReport {
            slot,
            freed: evicted,
            evicted: count,
        })
    }

    /// Removes reports that are older than `max_age`, and those that lie as far in the future because the clock was set
    /// back. Returns their slots.
    pub fn expire(&mut self, max_age: Duration, now: Time) -> Vec<usize> {
        let is_late =
            |stored: &StoredReport| now.since(stored.received_at) > max_age || stored.received_at.since(now) > max_age;
        let late = self
            .0
            .extract_if(.., |stored| is_late(stored))
            .map(|stored| stored.slot);
        late.collect()
    }

    /// All reports. Those of the reporters with the fewest bytes come first.
    #[must_use]
    pub fn by_usage(&self) -> Vec<StoredReport> {
        let used = usages(&self.0);
        let bytes = |stored: &StoredReport| usage_of(&used, stored.reporter).map_or(0, |used| used.bytes);
        let mut stored = self.0.clone();
        crate::order::sort_by(&mut stored, |a, b| {
            (bytes(a), a.reporter, a.slot).cmp(&(bytes(b), b.reporter, b.slot))
        });
        stored
    }

    /// Bytes of all reports.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|stored| stored.bytes).fold(0, usize::saturating_add)
    }

    /// Returns whether a report is stored in that slot.
    #[must_use]
    pub fn is_used(&self, slot: usize) -> bool {
        self.0.iter().any(|stored| stored.slot == slot)
    }
}

/// The limit that another report would exceed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExceededLimit {
    Reports,
    Bytes,
}

impl ExceededLimit {
    fn of(stored: &[StoredReport], bytes: usize) -> Option<Self> {
        let used = stored
            .iter()
            .map(|stored| stored.bytes)
            .fold(bytes, usize::saturating_add);
        if stored.len() >= MAX_REPORTS {
            Some(Self::Reports)
        } else if used > MAX_BYTES {
            Some(Self::Bytes)
        } else {
            None
        }
    }
}

/// Removes the largest report of the reporter that uses the most, and returns its slot. `None` if no other reporter uses
/// more than `reporter` would with the new report.
fn evict(stored: &mut Vec<StoredReport>, full: ExceededLimit, reporter: u64, bytes: usize) -> Option<usize> {
    let used = usages(stored);
    let usage = |used: &ReporterUsage| match full {
        ExceededLimit::Reports => used.reports,
        ExceededLimit::Bytes => used.bytes,
    };
    let own = usage_of(&used, reporter).map_or(0, usage);
    let own = own.saturating_add(match full {
        ExceededLimit::Reports => 1,
        ExceededLimit::Bytes => bytes,
    });
    let others = used
        .iter()
        .filter(|used| used.reporter != reporter && usage(used) > own);
    let heaviest = others.max_by_key(|used| usage(used))?.reporter;
    let theirs = stored
        .iter()
        .enumerate()
        .filter(|(_, stored)| stored.reporter == heaviest);
    let (at, _) = theirs.max_by_key(|(_, stored)| stored.bytes)?;
    Some(stored.swap_remove(at).slot)
}

fn usages(stored: &[StoredReport]) -> Vec<ReporterUsage> {
    let mut uses: Vec<ReporterUsage> = Vec::new();
    for stored in stored {
        match uses.iter_mut().find(|used| used.reporter == stored.reporter) {
            Some(used) => {
                used.reports = used.reports.saturating_add(1);
                used.bytes = used.bytes.saturating_add(stored.bytes);
            }
            None => uses.push(ReporterUsage {
                reporter: stored.reporter,
                reports: 1,
                bytes: stored.bytes,
            }),
        }
    }
    uses
}

fn usage_of(uses: &[ReporterUsage], reporter: u64) -> Option<&ReporterUsage> {
    uses.iter().find(|used| used.reporter == reporter)
}

/// The first slot that is free.
fn first_free_slot(stored: &[StoredReport]) -> usize {
    let is_taken = |slot: &usize| stored.iter().any(|stored| stored.slot == *slot);
    (0..MAX_REPORTS).find(|slot| !is_taken(slot)).unwrap_or(MAX_REPORTS)
}

#[cfg(test)]
mod tests;
