//! Policies in files: invalid ones, policies in a configuration, and the examples of the guide.

use super::*;

#[test]
fn an_invalid_policy_is_reported_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policies.yaml");
    let policy =
        "apiVersion: burstmetrics.dev/v1alpha1\nkind: ExternalMetricPolicy\nmetadata: {name: p, namespace: shop}\n";
    let run = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let path = path.to_str().unwrap();
        let output = burstctl(&["policy", "test", path, "--hpa", path]);
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap().replace(path, "FILE"),
        )
    };
    for (text, expected) in [
        (
            format!("{policy}spec:\n  rules:\n  - metric: a\n"),
            "FILE:6:5: shop/p: spec.rules[0]: has neither",
        ),
        (
            format!("{policy}spec:\n  rules:\n  - metric: (\n    deny: true\n"),
            "FILE:6:13: shop/p: spec.rules[0].metric: `(` is",
        ),
        (
            format!("{policy}spec: {{rules: []}}\n"),
            "FILE:4:8: shop/p: spec.rules: is empty",
        ),
        (
            format!("{policy}spek: {{rules: []}}\n"),
            "shop/p: spek: is not a field of an ExternalMetricPolicy",
        ),
        (policy.to_owned(), "shop/p: spec: is missing"),
        (
            policy.replace("v1alpha1", "v9"),
            "FILE:1:13: shop/p: apiVersion: expected \"burstmetrics.dev/v1alpha1\"",
        ),
        (
            "kind: Service\n".to_owned(),
            "neither an ExternalMetricPolicy nor the filter's configuration",
        ),
        (
            "cluster: k\nmetrics_apis: {filter_chain: m, policies: {given: [{name: p, rules: []}]}}\n".to_owned(),
            "given[0].rules: is empty",
        ),
        ("a: [\n".to_owned(), "FILE:"),
    ] {
        let (code, output) = run(&text);
        assert!(
            code == Some(2) && output.contains(expected),
            "{text}\n{code:?} {output}"
        );
    }
}

#[test]
fn policies_in_a_configuration_are_read_with_its_default() {
    let configuration = json!({"cluster": "k", "metrics_apis": {"filter_chain": "m", "policies": {
        "default": "deny", "root_namespace": "root",
        "given": [{"name": "given", "namespace": "shop", "rules": [{"metric": "a", "selector": {}}]}]}}});
    let of_root = random::policy(
        "everywhere",
        "root",
        &json!({"rules": [{"metric": "[ab]", "selector": {}}]}),
    );
    let policies = file(&[configuration, of_root]);
    let metrics = [random::external("a", &json!({})), random::external("b", &json!({}))];
    let hpas = file(&[
        random::hpa("hpa", "shop", &metrics),
        random::hpa("hpa", "data", &metrics),
    ]);
    let output = burstctl(&[
        "policy",
        "test",
        policies.path().to_str().unwrap(),
        "--hpa",
        hpas.path().to_str().unwrap(),
    ]);
    assert_eq!(
        text(&output.stdout),
        "shop/hpa: a: passes: given rule 1, root/everywhere rule 1\n\
         shop/hpa: b: refused: ExternalMetricPolicy \"given\" has no rule for it, and the default is deny\n\
         data/hpa: a: passes: root/everywhere rule 1\n\
         data/hpa: b: passes: root/everywhere rule 1\n"
    );
}

#[test]
fn the_guide_shows_the_real_output() {
    let read = |path: &str| std::fs::read_to_string(repository().join(path)).unwrap();
    let (guide, policies) = (
        read("docs/policies.md"),
        read("crates/burstctl/tests/data/policies/policies.yaml"),
    );
    let (_, shown) = guide.split_once("$ burstctl policy test ").unwrap();
    let (args, shown) = shown.split_once("\n```").unwrap().0.split_once('\n').unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_burstctl"));
    command.args(["policy", "test"]).args(args.split(' '));
    let folder = repository().join("crates/burstctl/tests/data/policies");
    assert_eq!(
        text(&command.current_dir(folder).output().unwrap().stdout).trim_end(),
        shown
    );
    let (_, policy) = guide.split_once("```yaml\n").unwrap();
    let (policy, _) = policy.split_once("```").unwrap();
    assert!(policies.ends_with(policy), "{policy}");
}
