//! YAML as Kubernetes reads it: recorded from apimachinery's own reader by
//! `go run ./yaml < ../../crates/burstctl/tests/golden/yaml.jsonl` in `tests/oracle`.

use burstctl::yaml::documents;
use serde_json::Value;

#[derive(serde::Deserialize)]
struct Line {
    yaml: String,
    json: Value,
}

/// None for what cannot be read. Kubernetes reads the first document of a text, and numbers as JSON has them.
fn ours(yaml: &str) -> Option<Value> {
    let first = documents(&format!("#\n{yaml}"))
        .into_iter()
        .find(|document| document.number == 1);
    first.map_or(Some(Value::Null), |document| {
        document.content.ok().map(|tree| tree.to_json())
    })
}

/// Where the reader's grammar is that of YAML 1.2, and how: nothing of this is found in an HPA that anybody wrote.
const KNOWN_TO_DIFFER: [(&str, &str); 9] = [
    ("[-]", "a lone dash in a flow list is refused"),
    ("-, ", "the same"),
    (", -}", "the same"),
    ("\\/", "an escaped slash is a slash"),
    ("!!binary", "stays as it is written"),
    ("[\n\t", "a tab before a value in brackets is refused"),
    ("{\n\t", "the same"),
    ("a:\t1", "a tab behind a colon is refused"),
    ("\t# c", "a tab before a comment is white space"),
];

/// Tabs within text.
const TABS_IN_TEXT: [&str; 2] = ["a: |\n  \tx\n", "a: 'x\n\ty'\n"];

fn is_known_to_differ(yaml: &str) -> bool {
    TABS_IN_TEXT.contains(&yaml) || KNOWN_TO_DIFFER.iter().any(|(part, _)| yaml.contains(part))
}

#[test]
fn recorded_documents_are_read_as_kubernetes_read_them() {
    let lines: Vec<Line> = include_str!("golden/yaml.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(lines.len() > 1_000);
    let differing: Vec<String> = lines
        .iter()
        .filter(|line| !is_known_to_differ(&line.yaml))
        .filter(|line| ours(&line.yaml).unwrap_or_default() != line.json)
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
