//! Records `tests/golden/*.jsonl` anew from kube-apiserver's code (`setup/oracle`). Always the same files from the same
//! Kubernetes: the seed is fixed.

#[path = "../tests/admission/dice.rs"]
mod dice;
#[path = "../tests/admission/golden.rs"]
mod golden;
#[path = "../tests/admission/mutants.rs"]
mod mutants;
#[path = "../tests/admission/oracle.rs"]
mod oracle;
#[path = "../tests/admission/quantities.rs"]
mod quantities;
#[path = "../tests/admission/tree.rs"]
mod tree;
#[path = "../tests/admission/words.rs"]
mod words;

use std::collections::BTreeMap;
use std::fmt::Write;

use burst_hpa::Options;
use golden::Case;
use serde::Serialize;

const SEED: u64 = 2026;

/// Mutants to choose from, for each set of gates.
const POOL: usize = 120_000;

const CASES: usize = 2_000;

/// How often each error is to occur, if the pool has it so often.
const OFTEN: usize = 5;

fn main() -> std::io::Result<()> {
    let cases = chosen(pool());
    println!("{} cases, {} errors", cases.len(), golden::errors(&cases).len());
    std::fs::write(golden::path(), lines(&cases))?;
    let quantities = quantities::recorded(SEED);
    println!("{} quantities", quantities.len());
    std::fs::write(quantities::path(), lines(&quantities))
}

fn pool() -> Vec<Case> {
    let mut mutants = mutants::Mutants::new(SEED);
    let mut pool = Vec::new();
    for (scale_to_zero, tolerance) in [(false, true), (true, true), (false, false)] {
        let options = Options {
            scale_to_zero,
            tolerance,
            ..Options::default()
        };
        let documents: Vec<String> = (0..POOL).map(|_| tree::to_json(&mutants.hpa())).collect();
        let answers = oracle::kubernetes(&documents, options);
        pool.extend(
            documents
                .into_iter()
                .zip(answers)
                .map(|(document, answer)| Case::new(options, document, answer)),
        );
    }
    pool
}

/// Those with a rare error first, short ones before long ones; then any, spread over the pool.
fn chosen(mut pool: Vec<Case>) -> Vec<Case> {
    let (mut chosen, mut seen) = (Vec::new(), BTreeMap::new());
    pool.sort_by_key(|case| case.document.get().len());
    let (wanted, rest): (Vec<Case>, Vec<Case>) = pool.into_iter().partition(|case| {
        let kinds = golden::kinds(&case.answer);
        let wanted = kinds
            .iter()
            .any(|kind| seen.get(kind).is_none_or(|count| *count < OFTEN));
        if wanted {
            kinds.into_iter().for_each(|kind| *seen.entry(kind).or_insert(0) += 1);
        }
        wanted
    });
    chosen.extend(wanted);
    let step = rest.len() / CASES.saturating_sub(chosen.len()).max(1);
    chosen.extend(rest.into_iter().step_by(step.max(1)));
    chosen.truncate(CASES);
    chosen
}

fn lines(records: &[impl Serialize]) -> String {
    records.iter().fold(String::new(), |mut text, record| {
        let line = serde_json::to_string(record).unwrap_or_else(|e| panic!("{e}"));
        let _ = writeln!(text, "{line}");
        text
    })
}
