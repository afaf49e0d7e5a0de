//! The table of docs/configuration.md names exactly the keys of the configuration.

use burst_model::config::{Artifact, Config};
use std::collections::BTreeSet;

const TABLE: &str = include_str!("../../../docs/configuration.md");

/// The objects of the configuration: a path in the table, and a configuration with an invalid key there.
const OBJECTS: [(&str, &str); 23] = [
    ("", r#"{"?":0}"#),
    ("sync.", r#"{"sync":{"?":0}}"#),
    ("hpas.", r#"{"hpas":{"?":0}}"#),
    ("services.", r#"{"services":{"?":0}}"#),
    ("workloads[].", r#"{"workloads":[{"?":0}]}"#),
    ("clusters[].", r#"{"clusters":[{"?":0}]}"#),
    ("header.", r#"{"header":{"?":0}}"#),
    ("header.when.", r#"{"header":{"when":{"?":0}}}"#),
    ("degraded.", r#"{"degraded":{"?":0}}"#),
    ("retry_after.", r#"{"retry_after":{"?":0}}"#),
    ("orca.", r#"{"orca":{"?":0}}"#),
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
    ("peers.", r#"{"peers":{"?":0}}"#),
    ("peers.read[].", r#"{"peers":{"read":[{"?":0}]}}"#),
    ("overflow.", r#"{"overflow":{"?":0}}"#),
    ("requests.", r#"{"requests":{"?":0}}"#),
    ("requests.hub.", r#"{"requests":{"hub":{"?":0}}}"#),
    ("requests.accept.", r#"{"requests":{"accept":{"?":0}}}"#),
];

/// Keys that only contain other keys.
const OBJECT_KEYS: [&str; 14] = [
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
    "peers",
    "requests.hub",
    "requests.accept",
];

/// The keys that the error about an unknown key lists as allowed.
fn keys() -> BTreeSet<String> {
    let at = |(path, json): (&str, &str)| {
        let refusal = Config::parse(json.as_bytes(), Artifact::Full).unwrap_err().to_string();
        let (_, allowed) = refusal
            .split_once("expected ")
            .unwrap_or_else(|| panic!("{json}: {refusal}"));
        quoted(allowed).map(|key| format!("{path}{key}")).collect::<Vec<_>>()
    };
    let all: BTreeSet<_> = OBJECTS.into_iter().flat_map(at).collect();
    // The table lists a key that only contains other keys by those.
    all.into_iter()
        .filter(|key| !OBJECT_KEYS.contains(&key.as_str()))
        .collect()
}

/// The text between each pair of backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The keys of the table. `.version` after `workloads[].group` is short for `workloads[].version`.
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
