//! The shipped CustomResourceDefinition, and `policy check`, with a real API server.

use super::*;

#[track_caller]
fn define(cluster: &ControlPlane) {
    cluster.apply(&std::fs::read_to_string(repository().join("istio/metrics-apis/policies.yaml")).unwrap());
    cluster.wait_for_crds();
}

#[test]
fn the_shipped_crd_refuses_invalid_policies() {
    let cluster = ControlPlane::start();
    define(&cluster);
    let rule = |rule: Value| json!({"rules": [rule]});
    let create = |spec: &Value| {
        let policy = random::policy("p", "default", spec);
        cluster.try_kubectl(&["create", "--dry-run=server", "-f", "-"], &policy.to_string())
    };
    for good in [
        rule(json!({"metric": r"burst_(requests|rejected)_per_second|[^a\-]\d{2,}", "deny": true})),
        rule(json!({"metric": "a", "selector": {}})),
        json!({"subjects": [{"kind": "Group", "name": "a"}], "rules": [{"metric": "a", "selector": {
            "matchLabels": {"team": "web"}, "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["x"]}]}}]}),
    ] {
        assert!(create(&good).is_ok(), "{good}: {:?}", create(&good));
        assert!(burst_policy::Policy::parse("p", None, &good.to_string()).is_ok());
    }
    let expression = |words: Value| rule(json!({"metric": "a", "selector": {"matchExpressions": [words]}}));
    for (bad, said) in [
        (json!({}), "spec.rules: Required value"),
        (json!({"rules": []}), "spec.rules: Invalid value"),
        (rule(json!({"deny": true})), "spec.rules[0].metric: Required value"),
        (
            rule(json!({"metric": "", "deny": true})),
            "spec.rules[0].metric: Invalid value",
        ),
        (
            rule(json!({"metric": "a"})),
            "a rule has exactly one of a selector and deny",
        ),
        (
            rule(json!({"metric": "a", "deny": true, "selector": {}})),
            "a rule has exactly one of a selector and deny",
        ),
        (
            rule(json!({"metric": "a", "deny": false})),
            "spec.rules[0].deny: Unsupported value",
        ),
        (
            rule(json!({"metric": "(a", "deny": true})),
            "spec.rules[0].metric: Invalid value",
        ),
        (
            rule(json!({"metric": "a**", "deny": true})),
            "spec.rules[0].metric: Invalid value",
        ),
        (
            rule(json!({"metric": "Upper", "deny": true})),
            "spec.rules[0].metric: Invalid value",
        ),
        (rule(json!({"metric": "a", "allow": true})), "unknown field"),
        (
            json!({"subjects": [], "rules": [{"metric": "a", "deny": true}]}),
            "spec.subjects: Invalid value",
        ),
        (
            expression(json!({"key": "a", "operator": "In"})),
            "In and NotIn have values",
        ),
        (
            expression(json!({"key": "a", "operator": "Exists", "values": ["a"]})),
            "In and NotIn have values",
        ),
        (expression(json!({"key": "a", "operator": "Near"})), "Unsupported value"),
    ] {
        let refusal = create(&bad).expect_err("a refusal");
        assert!(refusal.contains(said), "{bad}: {refusal}");
        assert!(
            burst_policy::Policy::parse("p", None, &bad.to_string()).is_err(),
            "{bad}"
        );
    }
}

#[test]
fn check_writes_an_accepted_condition_for_each_policy() {
    let cluster = ControlPlane::start();
    define(&cluster);
    let create = |name: &str, spec: Value| {
        let policy = random::policy(name, "default", &spec).to_string();
        cluster.apply(&policy);
    };
    create("fine", json!({"rules": [{"metric": ".*", "deny": true}]}));
    // The schema cannot detect a selector that contradicts itself.
    let labels = json!({"matchLabels": {"a": "x"}, "matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]});
    create("odd", json!({"rules": [{"metric": "a", "selector": labels}]}));
    let check = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_burstctl"));
        command.args(["policy", "check", "--context", ""]).args(words);
        command.env("KUBECONFIG", cluster.kubeconfig()).output().unwrap()
    };
    let columns = || {
        let printed = cluster.kubectl(&["get", "externalmetricpolicies", "--no-headers"]);
        let of_line = |line: &str| line.split_whitespace().take(4).collect::<Vec<_>>().join(" ");
        printed.lines().map(of_line).collect::<Vec<_>>()
    };
    let refusal = "default/odd: refused: spec.rules[0].selector: contradicts itself about \"a\", and so selects nothing; \
                   `deny: true` says that\n";
    let output = check(&[]);
    assert_eq!(
        (output.status.code(), text(&output.stdout)),
        (Some(1), format!("default/fine: accepted, 1 rule\n{refusal}"))
    );
    assert!(
        columns().iter().all(|line| !line.contains("True")),
        "only looked at: {:?}",
        columns()
    );

    let output = check(&["--write-status"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert_eq!(columns(), ["fine True Valid 1", "odd False Invalid 0"]);
    let status = |name: &str| {
        let object = cluster.kubectl(&["get", "externalmetricpolicies", name, "--output=json"]);
        let object: Value = serde_json::from_str(&object).unwrap();
        (object["metadata"]["resourceVersion"].clone(), object["status"].clone())
    };
    let before = status("odd");
    assert_eq!(before.1["observedGeneration"], 1);
    assert!(
        before.1["conditions"][0]["message"]
            .as_str()
            .unwrap()
            .contains("contradicts itself")
    );
    check(&["--write-status"]);
    assert_eq!(status("odd"), before, "what is there already is not written again");

    create(
        "odd",
        json!({"rules": [{"metric": "a", "selector": {"matchLabels": {"a": "x"}}}]}),
    );
    assert_eq!(check(&["--write-status"]).status.code(), Some(0));
    assert_eq!(columns(), ["fine True Valid 1", "odd True Valid 1"]);
    assert_eq!(status("odd").1["observedGeneration"], 2);

    // The schema cannot compute the cost of a policy either.
    let slow = vec![json!({"metric": "(?:.{0,30}){30}x", "deny": true}); 1000];
    create("slow", json!({"rules": slow}));
    assert_eq!(
        check(&["--write-status", "--root-namespace=default"]).status.code(),
        Some(1)
    );
    assert_eq!(
        columns(),
        ["fine True Valid 1", "odd True Valid 1", "slow False Invalid 0"]
    );
    let message = status("slow").1["conditions"][0]["message"].to_string();
    assert!(
        message.contains("steps for the most expensive query; 200000 are allowed"),
        "{message}"
    );
}
