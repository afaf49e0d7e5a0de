//! The table of docs/configuration.md names the keys that there are, and no others.

use burst_model::config::{Artifact, Config};
use std::collections::BTreeSet;

const TABLE: &str = include_str!("../../../docs/configuration.md");

/// Where keys nest: a path in the table, and a configuration with a key at that place that cannot be.
const PLACES: [(&str, &str); 17] = [
    ("", r#"{"?":0}"#),
    ("sync.", r#"{"sync":{"?":0}}"#),
    ("hpas.", r#"{"hpas":{"?":0}}"#),
    ("services.", r#"{"services":{"?":0}}"#),
    ("workloads[].", r#"{"workloads":[{"?":0}]}"#),
    ("clusters[].", r#"{"clusters":[{"?":0}]}"#),
    ("header.", r#"{"header":{"?":0}}"#),
    ("header.when.", r#"{"header":{"when":{"?":0}}}"#),
    ("endpoints.", r#"{"endpoints":{"?":0}}"#),
    ("metrics_apis.", r#"{"metrics_apis":{"?":0}}"#),
    ("metrics_apis.fallback.", r#"{"metrics_apis":{"fallback":{"?":0}}}"#),
    (
        "metrics_apis.fallback.custom.",
        r#"{"metrics_apis":{"fallback":{"custom":{"?":0}}}}"#,
    ),
    (
        "metrics_apis.fallback.external.",
        r#"{"metrics_apis":{"fallback":{"external":{"?":0}}}}"#,
    ),
    ("metrics_apis.policies.", r#"{"metrics_apis":{"policies":{"?":0}}}"#),
    ("requests.", r#"{"requests":{"?":0}}"#),
    ("requests.hub.", r#"{"requests":{"hub":{"?":0}}}"#),
    ("requests.accept.", r#"{"requests":{"accept":{"?":0}}}"#),
];

/// Keys that say nothing but by the keys under them.
const WITHOUT_A_ROW: [&str; 13] = [
    "sync",
    "hpas",
    "services",
    "header",
    "header.when",
    "endpoints",
    "metrics_apis",
    "metrics_apis.fallback",
    "metrics_apis.fallback.custom",
    "metrics_apis.fallback.external",
    "metrics_apis.policies",
    "requests.hub",
    "requests.accept",
];

/// The keys that the refusal of an unknown one says are allowed.
fn keys() -> BTreeSet<String> {
    let at = |(place, json): (&str, &str)| {
        let refusal = Config::parse(json.as_bytes(), Artifact::Full).unwrap_err().to_string();
        let (_, allowed) = refusal
            .split_once("expected ")
            .unwrap_or_else(|| panic!("{json}: {refusal}"));
        quoted(allowed).map(|key| format!("{place}{key}")).collect::<Vec<_>>()
    };
    let all: BTreeSet<_> = PLACES.into_iter().flat_map(at).collect();
    // A key with keys of its own stands in the table by those, unless its value can be given as a whole.
    all.into_iter()
        .filter(|key| !WITHOUT_A_ROW.contains(&key.as_str()))
        .collect()
}

/// The texts between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The keys of the table; `.version` behind `workloads[].group` is short for `workloads[].version`.
fn documented() -> BTreeSet<String> {
    let rows = TABLE.lines().filter(|line| line.starts_with("| `"));
    let of_row = |row: &str| {
        let cell = row.split('|').nth(1).unwrap();
        let first = quoted(cell).next().unwrap();
        let parent = first.rsplit_once('.').map_or("", |(parent, _)| parent);
        let whole = |key: &str| {
            if key.starts_with('.') {
                format!("{parent}{key}")
            } else {
                key.to_owned()
            }
        };
        quoted(cell).map(whole).collect::<Vec<_>>()
    };
    rows.flat_map(of_row).collect()
}

#[test]
fn the_table_names_every_key_and_no_other() {
    assert_eq!(documented(), keys());
}
