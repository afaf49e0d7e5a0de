//! The HPAs that `policy test` evaluates.

use serde_json::json;

use super::{Set, burstctl, file, text};

#[test]
fn a_short_form_is_tested_as_the_hpa_it_renders_to() {
    let short = |metric: &str| {
        json!({"apiVersion": "burstctl/v1", "kind": "Hpa", "namespace": "shop", "target": "Deployment/web", "max": 3,
            "metrics": [{"external": metric, "value": 1, "selector": {"queue": "orders"}}]})
    };
    let policy = json!({"apiVersion": "burstmetrics.dev/v1alpha1", "kind": "ExternalMetricPolicy",
        "metadata": {"name": "own", "namespace": "shop"}, "spec": {"rules": [{"metric": "queue", "selector": {}}]}});
    let set = Set::new(&[policy], "deny");
    for (metric, code, expected) in [
        ("queue", 0, "shop/web: queue{queue=orders}: passes: shop/own rule 1\n"),
        ("other", 1, "shop/web: other{queue=orders}: refused: "),
    ] {
        let output = set.run("test", &["--hpa", file(&[short(metric)]).path().to_str().unwrap()]);
        let (out, stderr) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{out}{stderr}");
        assert!(out.starts_with(expected), "{out}{stderr}");
    }
    let mut wrong = short("queue");
    wrong["max"] = json!(0);
    let output = set.run("test", &["--hpa", file(&[wrong]).path().to_str().unwrap()]);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.starts_with("burstctl: shop/web: spec.maxReplicas: "), "{stderr}");
}

#[test]
fn a_test_without_hpas_does_not_pass() {
    let policies = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/policies/policies.yaml");
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}});
    let output = burstctl(&[
        "policy",
        "test",
        policies,
        "--hpa",
        file(&[service]).path().to_str().unwrap(),
    ]);
    assert_eq!(text(&output.stderr), "burstctl: no HPA was given\n");
    assert_eq!(output.status.code(), Some(1));
}
