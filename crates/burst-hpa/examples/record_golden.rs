//! Records `tests/golden/*.jsonl` anew from kube-apiserver's code (`setup/oracle`). Always the same files from the same
//! Kubernetes: the seed is fixed.

#[path = "../tests/admission/boundary_values.rs"]
mod boundary_values;
#[path = "../tests/admission/faults.rs"]
mod faults;
#[path = "../tests/admission/golden.rs"]
mod golden;
#[path = "../tests/admission/json_text.rs"]
mod json_text;
#[path = "../tests/admission/mutants.rs"]
mod mutants;
#[path = "../tests/admission/oracle.rs"]
mod oracle;
#[path = "../tests/admission/quantities.rs"]
mod quantities;

use burst_hpa::Options;
use golden::{Case, chosen, lines};

const SEED: u64 = 2026;

/// Mutants to choose from, for each set of gates.
const POOL: usize = 120_000;

const CASES: usize = 2_000;

fn main() -> std::io::Result<()> {
    let cases = chosen(pool(), CASES);
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
        let documents: Vec<String> = (0..POOL).map(|_| json_text::to_json(&mutants.hpa())).collect();
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
