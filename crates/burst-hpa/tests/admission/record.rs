//! The recorded answers in `tests/golden`. With `BURST_RECORD=1` they are first recorded again from kube-apiserver's code
//! (`setup/oracle`, for the older versions `setup/oracle --older`). The seeds are fixed, so the same Kubernetes gives the
//! same files.

use std::path::Path;
use std::sync::Once;

use burst_hpa::Options;

use crate::golden::{self, Case, chosen, lines};
use crate::mutants::Mutants;
use crate::quantities::{self, Reading};
use crate::{json_text, oracle};

const SEED: u64 = 2026;

/// Mutants to choose from, for each set of gates.
const POOL: usize = 120_000;

const CASES: usize = 2_000;

const OLDER_SEED: u64 = 133;

/// Mutants to choose from, for each version and set of gates.
const OLDER_POOL: usize = 20_000;

/// Cases of each older version and set of gates whose answer differs from the newest version's.
const CHANGED: usize = 90;

/// Cases of each older version and set of gates whose answer is that of the newest version.
const UNCHANGED: usize = 30;

/// Answers of the newest version.
pub(crate) fn newest() -> Vec<Case> {
    static RECORDED: Once = Once::new();
    record(&RECORDED, &golden::path(), || lines(&chosen(pool(), CASES)));
    golden::read(&golden::path())
}

/// Answers of the older versions, most of them different from the newest version's.
pub(crate) fn older() -> Vec<Case> {
    static RECORDED: Once = Once::new();
    record(&RECORDED, &golden::older_path(), || lines(&older_cases()));
    golden::read(&golden::older_path())
}

/// Quantities as Go reads them.
pub(crate) fn quantities() -> Vec<Reading> {
    static RECORDED: Once = Once::new();
    let path = quantities::path();
    record(&RECORDED, &path, || lines(&quantities::recorded(SEED)));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Writes the file once, however many tests read it.
fn record(once: &Once, path: &Path, text: impl FnOnce() -> String) {
    once.call_once(|| {
        if std::env::var_os("BURST_RECORD").is_some() {
            std::fs::write(path, text()).unwrap();
        }
    });
}

fn pool() -> Vec<Case> {
    let mut mutants = Mutants::new(SEED);
    let mut pool = Vec::new();
    for (scale_to_zero, tolerance) in [(false, true), (true, true), (false, false)] {
        let options = Options {
            scale_to_zero,
            tolerance,
            ..Options::default()
        };
        let documents = documents(&mut mutants, POOL);
        let answers = oracle::kubernetes(&documents, options);
        let pairs = documents.into_iter().zip(answers);
        pool.extend(pairs.map(|(document, answer)| Case::new(options, document, answer)));
    }
    pool
}

fn documents(mutants: &mut Mutants, count: usize) -> Vec<String> {
    (0..count).map(|_| json_text::to_json(&mutants.hpa())).collect()
}

fn older_cases() -> Vec<Case> {
    let documents = documents(&mut Mutants::new(OLDER_SEED), OLDER_POOL);
    let mut cases = Vec::new();
    for minor in 33..Options::default().minor {
        let default = Options::kubernetes_1(minor);
        let opposite = Options {
            scale_to_zero: true,
            tolerance: !default.tolerance,
            ..default
        };
        for options in [default, opposite] {
            let (changed, unchanged) = compared_with_newest(&documents, options);
            cases.extend(chosen(changed, CHANGED));
            cases.extend(chosen(unchanged, UNCHANGED));
        }
    }
    cases
}

/// The cases whose answer differs from the newest version with its own gates, and the others.
fn compared_with_newest(documents: &[String], options: Options) -> (Vec<Case>, Vec<Case>) {
    let newest = oracle::kubernetes(documents, Options::default());
    let answers = oracle::kubernetes(documents, options);
    let (mut changed, mut unchanged) = (Vec::new(), Vec::new());
    for ((document, answer), newest) in documents.iter().zip(answers).zip(newest) {
        let cases = if answer == newest { &mut unchanged } else { &mut changed };
        cases.push(Case::new(options, document.clone(), answer));
    }
    (changed, unchanged)
}
