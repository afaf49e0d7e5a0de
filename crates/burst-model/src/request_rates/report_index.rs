//! Which reports the hub keeps, whose they are, and where they stand in shared data. Their number and their bytes have a
//! limit, which those who report share: where there is no room left, a report takes the place of one of the reporter that
//! has the most, and is refused where that is its own reporter. So nobody who sends much costs others their reports.
//!
//! A reporter is what its certificate says; the id of a proxy is only what it says of itself. Proxies with one name in
//! their certificates are one reporter.

use crate::records::Record;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Reports that are kept.
pub const MOST_REPORTS: usize = 512;

/// Bytes of all of them.
pub const MOST_BYTES: usize = 32 << 20;

/// The reports that are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportIndex(Vec<StoredReport>);

/// A report that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredReport {
    /// The number of its place.
    pub place: usize,
    /// A hash of what its certificate says.
    reporter: u64,
    /// The id of the proxy.
    pub id: u64,
    bytes: usize,
    came: Time,
}

/// Where a report goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmittedReport {
    /// The number of the place.
    pub place: usize,
    /// Places whose reports had to go for it, and that hold no other now.
    pub emptied: Vec<usize>,
    /// How many had to go.
    pub evicted: usize,
}

/// There is no room for a report of a reporter that has at least as much as each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no room for more reports with this certificate: {MOST_REPORTS} reports of {MOST_BYTES} bytes are kept"
)]
pub struct ReportsFull;

/// What a reporter has.
#[derive(Clone, Copy, Debug)]
struct ReporterUsage {
    reporter: u64,
    reports: usize,
    bytes: usize,
}

impl Record for ReportIndex {}

impl ReportIndex {
    /// Takes what stands in shared data; an empty index where that is none.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Self {
        Self::from_bytes(bytes).filter(Self::is_sound).unwrap_or_default()
    }

    /// Whether each report has a place of its own.
    fn is_sound(&self) -> bool {
        let mut taken = [false; MOST_REPORTS];
        let mut take = |place: usize| {
            taken
                .get_mut(place)
                .is_some_and(|taken| !std::mem::replace(taken, true))
        };
        self.0.iter().all(|kept| take(kept.place))
    }

    /// Makes room for a report that came just now, in place of the last one of that proxy. Where it is refused, nothing
    /// has changed.
    ///
    /// # Errors
    /// There is no room.
    pub fn admit(&mut self, reporter: u64, id: u64, bytes: usize, now: Time) -> Result<AdmittedReport, ReportsFull> {
        let mut kept = self.0.clone();
        let is_same = |kept: &StoredReport| kept.reporter == reporter && kept.id == id;
        let own = kept.iter().position(is_same).map(|at| kept.swap_remove(at).place);
        let mut evicted = Vec::new();
        while let Some(full) = ExceededLimit::of(&kept, bytes) {
            evicted.push(evict(&mut kept, full, reporter, bytes).ok_or(ReportsFull)?);
        }
        let count = evicted.len();
        let place = own.or_else(|| evicted.pop()).unwrap_or_else(|| free(&kept));
        kept.push(StoredReport {
            place,
            reporter,
            id,
            bytes,
            came: now,
        });
        self.0 = kept;
        Ok(AdmittedReport {
            place,
            emptied: evicted,
            evicted: count,
        })
    }

    /// Takes out what came too long ago, and what lies ahead, which came before the clock was set back: the places.
    pub fn expire(&mut self, patience: Duration, now: Time) -> Vec<usize> {
        let is_late = |kept: &StoredReport| now.since(kept.came) > patience || kept.came.since(now) > patience;
        let late = self.0.extract_if(.., |kept| is_late(kept)).map(|kept| kept.place);
        late.collect()
    }

    /// The reports, those of the reporters with the fewest bytes first.
    #[must_use]
    pub fn in_order(&self) -> Vec<StoredReport> {
        let used = uses(&self.0);
        let bytes = |kept: &StoredReport| use_of(&used, kept.reporter).map_or(0, |used| used.bytes);
        let mut kept = self.0.clone();
        crate::order::sort_by(&mut kept, |a, b| {
            (bytes(a), a.reporter, a.place).cmp(&(bytes(b), b.reporter, b.place))
        });
        kept
    }

    /// Bytes of all reports.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|kept| kept.bytes).fold(0, usize::saturating_add)
    }

    /// Whether a report stands there.
    #[must_use]
    pub fn has(&self, place: usize) -> bool {
        self.0.iter().any(|kept| kept.place == place)
    }
}

/// What there is no room for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExceededLimit {
    Reports,
    Bytes,
}

impl ExceededLimit {
    fn of(kept: &[StoredReport], bytes: usize) -> Option<Self> {
        let used = kept.iter().map(|kept| kept.bytes).fold(bytes, usize::saturating_add);
        if kept.len() >= MOST_REPORTS {
            Some(Self::Reports)
        } else if used > MOST_BYTES {
            Some(Self::Bytes)
        } else {
            None
        }
    }
}

/// Takes out the largest report of the reporter that has the most, if that is more than what `reporter` would have then;
/// its place.
fn evict(kept: &mut Vec<StoredReport>, full: ExceededLimit, reporter: u64, bytes: usize) -> Option<usize> {
    let used = uses(kept);
    let weigh = |used: &ReporterUsage| match full {
        ExceededLimit::Reports => used.reports,
        ExceededLimit::Bytes => used.bytes,
    };
    let own = use_of(&used, reporter).map_or(0, weigh);
    let own = own.saturating_add(match full {
        ExceededLimit::Reports => 1,
        ExceededLimit::Bytes => bytes,
    });
    let others = used
        .iter()
        .filter(|used| used.reporter != reporter && weigh(used) > own);
    let heaviest = others.max_by_key(|used| weigh(used))?.reporter;
    let theirs = kept.iter().enumerate().filter(|(_, kept)| kept.reporter == heaviest);
    let (at, _) = theirs.max_by_key(|(_, kept)| kept.bytes)?;
    Some(kept.swap_remove(at).place)
}

fn uses(kept: &[StoredReport]) -> Vec<ReporterUsage> {
    let mut uses: Vec<ReporterUsage> = Vec::new();
    for kept in kept {
        match uses.iter_mut().find(|used| used.reporter == kept.reporter) {
            Some(used) => {
                used.reports = used.reports.saturating_add(1);
                used.bytes = used.bytes.saturating_add(kept.bytes);
            }
            None => uses.push(ReporterUsage {
                reporter: kept.reporter,
                reports: 1,
                bytes: kept.bytes,
            }),
        }
    }
    uses
}

fn use_of(uses: &[ReporterUsage], reporter: u64) -> Option<&ReporterUsage> {
    uses.iter().find(|used| used.reporter == reporter)
}

/// The first place that is free.
fn free(kept: &[StoredReport]) -> usize {
    let is_taken = |place: &usize| kept.iter().any(|kept| kept.place == *place);
    (0..MOST_REPORTS).find(|place| !is_taken(place)).unwrap_or(MOST_REPORTS)
}

#[cfg(test)]
mod tests;
