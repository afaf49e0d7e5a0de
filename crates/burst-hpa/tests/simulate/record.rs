//! The recorded traces. With `BURST_RECORD=1` they are first recorded again from the real controller (`setup/oracle`). The
//! seeds are fixed, so the same generator gives the same traces; the controller's answers differ only in what
//! `difference.rs` leaves out.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Once;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::golden::{self, Case};
use crate::{generate, oracle};

const CASES: usize = 200;

/// Traces to choose from.
const POOL: u64 = 3_000;

/// How many traces should contain each event.
const WANTED_OCCURRENCES: usize = 6;

/// The recorded traces.
pub(crate) fn traces() -> Vec<Case> {
    static RECORDED: Once = Once::new();
    RECORDED.call_once(|| {
        if std::env::var_os("BURST_RECORD").is_some() {
            write(&selected(pool())).unwrap();
        }
    });
    golden::read()
}

fn pool() -> Vec<Case> {
    let traces: Vec<_> = (0..POOL).map(generate::trace).collect();
    let answers = oracle::answers(&traces);
    let pairs = traces.into_iter().zip(answers);
    pairs.map(|(trace, answers)| Case { trace, answers }).collect()
}

/// Prefers traces with rare events, the short ones among them, and fills up with the first of the rest.
fn selected(mut pool: Vec<Case>) -> Vec<Case> {
    pool.sort_by_key(|case| case.trace.ticks.len());
    let mut occurrences: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut selected, mut common): (Vec<_>, Vec<_>) = pool.into_iter().partition(|case| {
        let events = golden::events(case);
        let is_rare = |event: &&str| occurrences.get(event).is_none_or(|count| *count < WANTED_OCCURRENCES);
        let has_rare = events.iter().any(is_rare);
        if has_rare {
            for event in events {
                *occurrences.entry(event).or_default() += 1;
            }
        }
        has_rare
    });
    common.sort_by_key(|case| case.trace.seed);
    common.truncate(CASES.saturating_sub(selected.len()));
    selected.append(&mut common);
    selected
}

fn write(cases: &[Case]) -> io::Result<()> {
    let mut file = GzEncoder::new(File::create(golden::path())?, Compression::best());
    for case in cases {
        serde_json::to_writer(&mut file, case)?;
        file.write_all(b"\n")?;
    }
    file.finish().map(drop)
}
