//! Records `tests/oracle/golden/traces.jsonl.gz` anew from the real controller (`setup/oracle`). The seeds are
//! fixed, so the same Kubernetes and the same stories give the same file.

#[path = "../tests/simulate/generate.rs"]
mod generate;
#[path = "../tests/simulate/golden.rs"]
#[expect(dead_code, reason = "reading is the tests' affair")]
mod golden;
#[path = "../tests/simulate/load.rs"]
mod load;
#[path = "../tests/simulate/metrics_api.rs"]
mod metrics_api;
#[path = "../tests/simulate/oracle.rs"]
mod oracle;
#[path = "../tests/simulate/pods.rs"]
mod pods;
#[path = "../tests/simulate/random.rs"]
mod random;
#[path = "../tests/simulate/replay.rs"]
#[expect(dead_code, reason = "comparing is the tests' affair")]
mod replay;
#[path = "../tests/simulate/specs.rs"]
mod specs;
#[path = "../tests/simulate/templates.rs"]
mod templates;
#[path = "../tests/simulate/trace.rs"]
mod trace;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use golden::Case;

const CASES: usize = 200;

/// Traces to choose from.
const POOL: u64 = 3_000;

/// How often each event is to happen.
const OFTEN: usize = 6;

fn main() -> io::Result<()> {
    let traces: Vec<_> = (0..POOL).map(generate::trace).collect();
    let answers = oracle::answers(&traces);
    let pool = traces
        .into_iter()
        .zip(answers)
        .map(|(trace, answers)| Case { trace, answers })
        .collect();
    let cases = chosen(pool);
    write(&cases)?;
    for (event, times) in times(&cases) {
        println!("{times:4} {event}");
    }
    Ok(())
}

/// First those in which something rare happens, short ones before long ones; then the first of the rest.
fn chosen(mut pool: Vec<Case>) -> Vec<Case> {
    pool.sort_by_key(|case| case.trace.ticks.len());
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut chosen, mut rest): (Vec<_>, Vec<_>) = pool.into_iter().partition(|case| {
        let events = golden::events(case);
        let rare = events
            .iter()
            .any(|event| seen.get(event).is_none_or(|times| *times < OFTEN));
        if rare {
            events
                .into_iter()
                .for_each(|event| *seen.entry(event).or_default() += 1);
        }
        rare
    });
    rest.sort_by_key(|case| case.trace.seed);
    rest.truncate(CASES.saturating_sub(chosen.len()));
    chosen.append(&mut rest);
    chosen
}

fn times(cases: &[Case]) -> BTreeMap<&'static str, usize> {
    let mut times = BTreeMap::new();
    for event in cases.iter().flat_map(golden::events) {
        *times.entry(event).or_default() += 1;
    }
    times
}

fn write(cases: &[Case]) -> io::Result<()> {
    let mut file = GzEncoder::new(File::create(golden::path())?, Compression::best());
    for case in cases {
        serde_json::to_writer(&mut file, case)?;
        file.write_all(b"\n")?;
    }
    file.finish().map(drop)
}
