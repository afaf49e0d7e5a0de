//! YAML as Kubernetes reads it: recorded from apimachinery's own reader by
//! `go run ./yaml < ../../crates/burstctl/tests/golden/yaml.jsonl` in `tests/oracle`; and held against it on each run.

mod mutants;
mod oracle;

use burst_testkit::seed;
use burstctl::yaml::documents;
use fastrand::Rng;
use serde_json::Value;

#[derive(serde::Deserialize)]
struct Line {
    yaml: String,
    json: Value,
}

/// None for what cannot be read. Kubernetes reads the first document of a text, and numbers as JSON has them.
fn ours(yaml: &str) -> Option<Value> {
    let documents = documents(&format!("#\n{yaml}"));
    if documents.iter().any(|document| document.content.is_err()) {
        return None;
    }
    let first = documents.into_iter().find(|document| document.number == 1);
    first.map_or(Some(Value::Null), |document| {
        document.content.ok().map(|tree| tree.to_json())
    })
}

/// Kubernetes reads these, and here they are refused, so that nothing is ever read otherwise. Nobody writes them.
const REFUSED: [(&str, &str); 5] = [
    ("[-]", "a lone dash in brackets"),
    ("-, ", "the same"),
    (", -}", "the same"),
    ("[\n\t", "a tab before a value in brackets"),
    ("{\n\t", "the same"),
];

fn may_be_refused(yaml: &str) -> bool {
    yaml == "a: 'x\n\ty'\n" || REFUSED.iter().any(|(part, _)| yaml.contains(part))
}

#[test]
fn recorded_documents_are_read_as_kubernetes_read_them() {
    let lines: Vec<Line> = include_str!("../golden/yaml.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(lines.len() > 1_000);
    let differing: Vec<String> = lines
        .iter()
        .filter(|line| match ours(&line.yaml) {
            Some(read) => read != line.json,
            None => !(line.json.is_null() || may_be_refused(&line.yaml)),
        })
        .map(|line| format!("{:?}: Kubernetes {}, here {:?}", line.yaml, line.json, ours(&line.yaml)))
        .collect();
    assert!(
        differing.is_empty(),
        "{} of {}:\n{}",
        differing.len(),
        lines.len(),
        differing.join("\n")
    );
}

/// A run is short; many runs with other seeds see much.
const MUTANTS: usize = 5_000;

#[test]
fn nothing_is_read_otherwise_than_kubernetes_reads_it() {
    let seed = seed();
    let mut rng = Rng::with_seed(seed);
    let documents: Vec<String> = (0..MUTANTS).map(|_| mutants::document(&mut rng)).collect();
    let (mut misread, mut alike, mut refused) = (Vec::new(), 0, 0);
    for (document, theirs) in documents.iter().zip(oracle::kubernetes(&documents)) {
        match ours(document) {
            Some(ours) if ours == theirs => alike += 1,
            Some(ours) => misread.push(format!("{document:?}\n  Kubernetes {theirs}\n  here {ours}\n")),
            None if theirs.is_null() => {}
            None => refused += 1,
        }
    }
    let shown: String = misread.iter().take(5).map(String::as_str).collect();
    assert!(misread.is_empty(), "{} of {MUTANTS}:\n{shown}", misread.len());
    // The parts that make these documents are the hardest there are: a third as many are refused here alone as are read,
    // give or take what chance does. Of what people write hardly anything is.
    assert!(
        alike > MUTANTS / 4 && refused < alike * 2 / 5,
        "{alike} read alike, {refused} refused here alone"
    );
}
