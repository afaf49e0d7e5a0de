//! Records `tests/golden/older.jsonl` anew from the kube-apiservers before the newest (`setup/oracle --older`): what they
//! answer differently, and some of what they do not. Always the same file: the seed is fixed.

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

use burst_hpa::Options;
use golden::{Case, chosen, lines};

const SEED: u64 = 133;

/// Mutants to choose from.
const POOL: usize = 20_000;

/// Of each version and set of gates.
const CHANGED: usize = 90;
const UNCHANGED: usize = 30;

fn main() -> std::io::Result<()> {
    let mut mutants = mutants::Mutants::new(SEED);
    let documents: Vec<String> = (0..POOL).map(|_| json_text::to_json(&mutants.hpa())).collect();
    let mut cases = Vec::new();
    for minor in 33..Options::default().minor {
        let default = Options::kubernetes_1(minor);
        let other = Options {
            scale_to_zero: true,
            tolerance: !default.tolerance,
            ..default
        };
        for options in [default, other] {
            let (changed, unchanged) = recorded(&documents, options);
            println!("{options:?}: {} of {POOL} differ from the newest", changed.len());
            cases.extend(chosen(changed, CHANGED));
            cases.extend(chosen(unchanged, UNCHANGED));
        }
    }
    println!("{} cases", cases.len());
    std::fs::write(golden::older_path(), lines(&cases))
}

/// What the newest version answers differently, with the gates of its own, and what it does not.
fn recorded(documents: &[String], options: Options) -> (Vec<Case>, Vec<Case>) {
    let newest = oracle::kubernetes(documents, Options::default());
    let answers = oracle::kubernetes(documents, options);
    let cases = documents
        .iter()
        .zip(answers)
        .map(|(document, answer)| Case::new(options, document.clone(), answer));
    let (mut changed, mut unchanged) = (Vec::new(), Vec::new());
    for (case, newest) in cases.zip(newest) {
        let document = case.document.get();
        if let Some(difference) = oracle::difference(document, &oracle::ours(document, options), &case.answer) {
            println!("{options:?} answered otherwise here: {difference}");
        }
        let kind = if case.answer == newest {
            &mut unchanged
        } else {
            &mut changed
        };
        kind.push(case);
    }
    (changed, unchanged)
}
