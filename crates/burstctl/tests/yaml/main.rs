//! Compares the YAML reader with the one of Kubernetes: for recorded documents, and for random ones. To record, run
//! `go run ./yaml < ../../crates/burstctl/tests/golden/yaml.jsonl` in `tests/oracle`.

mod mutants;
mod oracle;

use burst_testkit::seed;
use burstctl::yaml::documents;
use fastrand::Rng;
use serde_json::Value;

#[derive(serde::Deserialize)]
struct Line {
    yaml: String,
    documents: Documents,
}

/// The documents that have a value, or `None` if one of them is refused.
type Documents = Option<Vec<Value>>;

/// Reads text as YAML. The comment above it keeps text that looks like JSON from being read as JSON.
fn ours(yaml: &str) -> Documents {
    let documents = documents(&format!("#\n{yaml}")).into_iter();
    documents
        .map(|document| document.content.ok().map(|tree| tree.to_json()))
        .collect()
}

/// Kubernetes reads documents with these, but `burstctl` refuses them. They do not occur in manifests.
const REFUSED: [&str; 2] = ["{b:, 1}", "\n...\n%"];

fn may_be_refused(yaml: &str) -> bool {
    REFUSED.iter().any(|part| yaml.contains(part))
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
            None => line.documents.is_some() && !may_be_refused(&line.yaml),
            read => read != line.documents,
        })
        .map(|line| difference(&line.yaml, &line.documents, &ours(&line.yaml)))
        .collect();
    assert!(
        differing.is_empty(),
        "{} of {}:\n{}",
        differing.len(),
        lines.len(),
        differing.concat()
    );
}

fn difference(yaml: &str, theirs: &Documents, ours: &Documents) -> String {
    let shown = |documents: &Documents| match documents {
        Some(documents) => Value::from(documents.clone()).to_string(),
        None => "refused".to_owned(),
    };
    format!("{yaml:?}\n  Kubernetes {}\n  here {}\n", shown(theirs), shown(ours))
}

/// Each run is short. Many runs with different seeds cover more.
const MUTANTS: usize = 20_000;

#[test]
fn random_documents_are_read_as_kubernetes_reads_them() {
    let seed = seed();
    let mut rng = Rng::with_seed(seed);
    let documents: Vec<String> = (0..MUTANTS).map(|_| mutants::document(&mut rng)).collect();
    let (mut misread, mut alike, mut refused) = (Vec::new(), 0, 0);
    for (document, theirs) in documents.iter().zip(oracle::kubernetes(&documents)) {
        match ours(document) {
            None if theirs.is_none() => {}
            None => refused += 1,
            ours if ours == theirs => alike += 1,
            ours => misread.push(difference(document, &theirs, &ours)),
        }
    }
    let shown: String = misread.iter().take(5).map(String::as_str).collect();
    assert!(misread.is_empty(), "{} of {MUTANTS}:\n{shown}", misread.len());
    // The mutants consist of the hardest parts of YAML. Even so, `burstctl` refuses fewer than a quarter of those that
    // Kubernetes reads: control characters, line breaks other than `\n`, and text after the end of a document.
    assert!(
        alike > MUTANTS / 4 && refused < alike / 3,
        "{alike} read alike, {refused} refused here alone"
    );
}
