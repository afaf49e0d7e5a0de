//! What `promtool` says about the files of `monitoring/`, without a proxy.

use std::{collections::BTreeSet, fs, process::Command};

use burst_testkit::{Part, repository};

use crate::prometheus::{read, replace_all, shipped};

/// Runs promtool and returns what it printed.
#[track_caller]
fn promtool(arguments: &[&str]) -> String {
    let output = Command::new(Part::Promtool.path())
        .args(arguments)
        .current_dir(shipped(""))
        .output()
        .expect("promtool starts");
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed).into_owned();
    assert!(output.status.success(), "promtool {arguments:?}: {printed}");
    printed
}

/// The alerts in a file, by the key that names them.
fn alerts(file: &str, key: &str) -> BTreeSet<String> {
    let text = read(file);
    let after = |line: &str| Some(line.split_once(key)?.1.split([',', '}']).next()?.trim().to_owned());
    text.lines().filter_map(after).collect()
}

#[test]
fn promtool_accepts_the_configuration_and_the_rules() {
    promtool(&["check", "config", "prometheus.yaml"]);
    let printed = promtool(&["check", "rules", "--lint=all", "--lint-fatal", "rules.yaml"]);
    assert!(printed.contains("10 rules found"), "{printed}");
}

#[test]
fn the_rules_pass_their_tests() {
    let printed = promtool(&["test", "rules", "rules.test.yaml"]);
    assert!(printed.contains("SUCCESS"), "{printed}");
}

#[test]
fn each_alert_has_a_test_and_an_entry_in_the_guide() {
    let defined = alerts("rules.yaml", "alert: ");
    assert_eq!(defined.len(), 10);
    assert_eq!(alerts("rules.test.yaml", "alertname: "), defined);
    let guide = fs::read_to_string(repository().join("docs/operating.md")).expect("the guide");
    let entries = guide.lines().filter_map(|line| line.strip_prefix("### "));
    let entries: BTreeSet<String> = entries
        .filter(|entry| entry.starts_with("Burst"))
        .map(Into::into)
        .collect();
    assert_eq!(entries, defined);
    let linked = alerts("rules.yaml", "runbook: docs/operating.md#");
    assert_eq!(linked, defined.iter().map(|name| name.to_lowercase()).collect());
}

/// The README shows how Prometheus discovers the proxies in Kubernetes, in place of the `static_configs`.
#[test]
fn promtool_accepts_the_discovery_of_the_readme() {
    let readme = read("README.md");
    let (_, rest) = readme.split_once("```yaml\n").expect("a block of YAML");
    let (discovery, _) = rest.split_once("\n```").expect("its end");
    let indented: String = discovery.lines().map(|line| format!("    {line}\n")).collect();
    let targets = "    static_configs:\n      - targets: [\"gateway.example:15090\"]\n";
    let rules = shipped("rules.yaml").display().to_string();
    let text = replace_all(
        read("prometheus.yaml"),
        &[(targets, &indented), ("[rules.yaml]", &format!("[{rules}]"))],
    );
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("prometheus.yaml");
    fs::write(&file, text).expect("a file");
    promtool(&["check", "config", &file.display().to_string()]);
}
