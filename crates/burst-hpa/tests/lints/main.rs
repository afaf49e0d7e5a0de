//! Every lint finds its problem, and nothing else, in HPAs that kube-apiserver accepts.

mod cluster;
mod fixtures;
mod mistakes;
mod predictions;

use burst_hpa::{Lint, Objects, Options, Severity, lint, lint_among};
use fixtures::{cpu, deployment, hpa, object, with};
use serde_json::{Value, json};

fn ids(findings: &[burst_hpa::Finding]) -> Vec<&'static str> {
    findings.iter().map(|finding| finding.lint.id()).collect()
}

fn alone(path: &str, value: Value) -> Vec<burst_hpa::Finding> {
    lint(&hpa(&with(fixtures::base(), path, value)), Options::default())
}

fn among(hpa_object: &Value, others: &[Value]) -> Vec<burst_hpa::Finding> {
    let mut objects = Objects::default();
    for other in others.iter().chain([hpa_object]) {
        objects.insert(other.clone()).unwrap();
    }
    lint_among(&hpa(hpa_object), &objects, Options::default())
}

#[test]
fn a_valid_hpa_among_valid_objects_has_no_findings() {
    let budget = object(
        "policy/v1",
        "PodDisruptionBudget",
        &json!({"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}}),
    );
    let other = with(deployment("other"), "/spec/replicas", json!(3));
    assert_eq!(among(&fixtures::base(), &[deployment("web"), other, budget]), []);
}

/// Each row is a field of an HPA, its value, and the findings of the HPA with this value.
#[track_caller]
fn assert_findings(table: Vec<(&str, Value, Vec<&str>)>) {
    for (path, value, expected) in table {
        assert_eq!(ids(&alone(path, value.clone())), expected, "{path} = {value}");
    }
}

#[test]
fn findings_about_an_object_metric() {
    let object_metric = |target: Value| json!([{"type": "Object", "object": {"describedObject": {"kind": "Ingress", "name": "in"}, "metric": {"name": "hits"}, "target": target}}]);
    assert_findings(vec![
        (
            "/spec/metrics",
            object_metric(json!({"type": "Value", "averageValue": "1"})),
            vec!["object-target-type"],
        ),
        (
            "/spec/metrics",
            object_metric(json!({"type": "Utilization", "value": "1"})),
            vec!["object-target-type"],
        ),
        (
            "/spec/metrics",
            object_metric(json!({"type": "Value", "value": "1"})),
            vec![],
        ),
        (
            "/spec/metrics",
            object_metric(json!({"type": "Value", "value": "1", "averageValue": "1"})),
            vec!["ignored-target-field"],
        ),
    ]);
}

#[test]
fn findings_about_an_external_metric() {
    let external = |target: Value, selector: Value| json!([{"type": "External", "external": {"metric": {"name": "queue", "selector": selector}, "target": target}}]);
    assert_findings(vec![
        (
            "/spec/metrics",
            external(
                json!({"type": "Value", "value": "1"}),
                json!({"matchLabels": {"a b": "c"}}),
            ),
            vec!["metric-selector"],
        ),
        (
            "/spec/metrics",
            external(
                json!({"type": "Value", "value": "1"}),
                json!({"matchLabels": {"a": "c"}}),
            ),
            vec![],
        ),
        (
            "/spec/metrics",
            external(json!({"type": "Utilization", "averageValue": "1"}), Value::Null),
            vec!["ignored-target-type"],
        ),
        (
            "/spec/metrics",
            external(json!({"type": "Value", "value": "1E"}), Value::Null),
            vec!["target-overflow"],
        ),
        (
            "/spec/metrics",
            external(json!({"type": "Value", "value": "9.2P"}), Value::Null),
            vec![],
        ),
    ]);
}

#[test]
fn findings_about_resource_metrics() {
    assert_findings(vec![
        (
            "/spec/metrics/0/resource/name",
            json!("ephemeral-storage"),
            vec!["unserved-resource"],
        ),
        (
            "/spec/metrics/0/resource/target/type",
            json!("Value"),
            vec!["ignored-target-type"],
        ),
        (
            "/spec/metrics/0/resource/target/value",
            json!("5"),
            vec!["ignored-target-field"],
        ),
        ("/spec/metrics", json!([cpu(80), cpu(80)]), vec!["duplicate-metric"]),
        ("/spec/metrics", json!([cpu(80), cpu(50)]), vec![]),
    ]);
}

#[test]
fn findings_about_the_scale_target_and_the_range() {
    assert_findings(vec![
        (
            "/spec/scaleTargetRef/kind",
            json!("DaemonSet"),
            vec!["unscalable-target"],
        ),
        (
            "/spec/scaleTargetRef/apiVersion",
            json!("extensions/v1beta1"),
            vec!["unscalable-target"],
        ),
        (
            "/spec/scaleTargetRef",
            json!({"kind": "DaemonSet", "name": "web", "apiVersion": "apps.kruise.io/v1alpha1"}),
            vec![],
        ),
        ("/spec/minReplicas", json!(10), vec!["fixed-range"]),
    ]);
}

#[test]
fn findings_about_the_behavior() {
    assert_findings(vec![
        (
            "/spec/behavior",
            json!({"scaleUp": {"tolerance": "5"}}),
            vec!["wide-tolerance"],
        ),
        ("/spec/behavior", json!({"scaleUp": {"tolerance": "0.5"}}), vec![]),
        (
            "/spec/behavior",
            json!({"scaleDown": {"selectPolicy": "Disabled"}}),
            vec!["disabled-direction"],
        ),
        (
            "/spec/behavior",
            json!({"scaleDown": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 600}]}}),
            vec!["slow-scale-down"],
        ),
        (
            "/spec/behavior",
            json!({"scaleDown": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 300}]}}),
            vec![],
        ),
    ]);
}

#[test]
fn a_status_in_a_new_object_is_found() {
    let text = with(fixtures::base(), "/status", json!({"desiredReplicas": 5})).to_string();
    let decoded = burst_hpa::decode(&burst_hpa::Node::from_json(&text).unwrap()).unwrap();
    assert_eq!(ids(&lint(&decoded, Options::default())), ["ignored-status"]);
}

#[test]
fn what_a_cluster_adds_to_its_objects_is_no_finding() {
    let live = |object: Value| {
        let object = with(object, "/metadata/uid", json!("0b7d3a5e"));
        with(object, "/metadata/resourceVersion", json!("7"))
    };
    let text = with(live(fixtures::base()), "/status", json!({"desiredReplicas": 5})).to_string();
    let decoded = burst_hpa::decode(&burst_hpa::Node::from_json(&text).unwrap()).unwrap();
    assert_eq!(lint(&decoded, Options::default()), []);
    let target = with(deployment("web"), "/spec/replicas", json!(3));
    assert_eq!(
        ids(&among(&fixtures::base(), std::slice::from_ref(&target))),
        ["fixed-replicas"]
    );
    assert_eq!(among(&live(fixtures::base()), &[live(target)]), []);
}

#[test]
fn a_tolerance_is_found_where_the_cluster_drops_it() {
    let text = with(
        fixtures::base(),
        "/spec/behavior",
        json!({"scaleUp": {"tolerance": "0.05"}}),
    )
    .to_string();
    let decoded = burst_hpa::decode(&burst_hpa::Node::from_json(&text).unwrap()).unwrap();
    assert_eq!(ids(&lint(&decoded, Options::kubernetes_1(34))), ["dropped-tolerance"]);
    assert_eq!(ids(&lint(&decoded, Options::kubernetes_1(35))), [""; 0]);
}

#[test]
fn a_missing_request_names_container_and_resource() {
    let target = with(
        deployment("web"),
        "/spec/template/spec/containers/1",
        json!({"name": "log-shipper"}),
    );
    let [finding] = among(&fixtures::base(), &[target]).try_into().unwrap();
    assert_eq!(
        (finding.lint, finding.severity),
        (Lint::MissingRequest, Severity::Error)
    );
    assert_eq!(finding.field, "spec.metrics[0].resource.target.averageUtilization");
    assert!(
        finding
            .effect
            .starts_with(r#"Container "log-shipper" of Deployment default/web requests no cpu"#),
        "{}",
        finding.effect
    );
}

#[test]
fn a_request_may_come_from_elsewhere() {
    let bare = json!({"name": "app"});
    let container = "/spec/template/spec/containers/0";
    let limited = json!({"name": "app", "resources": {"limits": {"cpu": "1"}}});
    let pod = json!({"containers": [bare], "resources": {"requests": {"cpu": "1"}}});
    let sidecar = json!([{"name": "proxy", "restartPolicy": "Always"}]);
    let table = [
        (
            "nowhere",
            with(deployment("web"), container, bare.clone()),
            vec!["missing-request"],
        ),
        ("a limit", with(deployment("web"), container, limited), vec![]),
        ("the pod", with(deployment("web"), "/spec/template/spec", pod), vec![]),
        (
            "a sidecar has none",
            with(deployment("web"), "/spec/template/spec/initContainers", sidecar),
            vec!["missing-request"],
        ),
        (
            "once started, it is gone",
            with(
                deployment("web"),
                "/spec/template/spec/initContainers",
                json!([{"name": "init"}]),
            ),
            vec![],
        ),
    ];
    for (why, target, expected) in table {
        assert_eq!(ids(&among(&fixtures::base(), &[target])), expected, "{why}");
    }
    let range = object("v1", "LimitRange", &json!({}));
    let [finding] = among(&fixtures::base(), &[with(deployment("web"), container, bare), range])
        .try_into()
        .unwrap();
    assert_eq!(finding.severity, Severity::Warning, "a LimitRange may add it");
}

#[test]
fn findings_of_an_hpa_with_its_target() {
    let of = |container: &str| {
        let target = json!({"type": "Utilization", "averageUtilization": 80});
        with(
            fixtures::base(),
            "/spec/metrics",
            json!([{"type": "ContainerResource", "containerResource": {"name": "cpu", "container": container, "target": target}}]),
        )
    };
    let limits = with(
        deployment("web"),
        "/spec/template/spec/containers/0/resources/limits",
        json!({"cpu": "1200m"}),
    );
    let label = "/spec/template/metadata/labels/sidecar.istio.io~1inject";
    let table = [
        (of("app"), deployment("web"), vec![]),
        (of("application"), deployment("web"), vec!["unknown-container"]),
        (
            fixtures::base(),
            with(deployment("web"), "/spec/replicas", json!(3)),
            vec!["fixed-replicas"],
        ),
        (
            with(fixtures::base(), "/spec/metrics", json!([cpu(110)])),
            limits.clone(),
            vec!["unreachable-utilization"],
        ),
        (
            with(fixtures::base(), "/spec/metrics", json!([cpu(109)])),
            limits,
            vec![],
        ),
        (
            fixtures::base(),
            with(deployment("web"), label, json!("true")),
            vec!["injected-sidecar"],
        ),
        (of("app"), with(deployment("web"), label, json!("true")), vec![]),
    ];
    for (hpa, target, expected) in table {
        assert_eq!(
            ids(&among(&hpa, std::slice::from_ref(&target))),
            expected,
            "{hpa}\n{target}"
        );
    }
}

#[test]
fn findings_of_an_hpa_among_other_objects() {
    let second = with(fixtures::base(), "/metadata/name", json!("second"));
    let greedy = with(
        deployment("web"),
        "/spec/selector",
        json!({"matchLabels": {"team": "shop"}}),
    );
    let rival = with(second.clone(), "/spec/scaleTargetRef/name", json!("other"));
    let scaled = object(
        "keda.sh/v1alpha1",
        "ScaledObject",
        &json!({"scaleTargetRef": {"name": "web"}}),
    );
    let vertical = object(
        "autoscaling.k8s.io/v1",
        "VerticalPodAutoscaler",
        &json!({"targetRef": {"kind": "Deployment", "name": "web"}}),
    );
    let off = with(vertical.clone(), "/spec/updatePolicy", json!({"updateMode": "Off"}));
    let budget = |least: Value| {
        object(
            "policy/v1",
            "PodDisruptionBudget",
            &json!({"minAvailable": least, "selector": {"matchLabels": {"app": "web"}}}),
        )
    };
    let table = [
        (vec![deployment("web"), second.clone()], vec!["shared-target"]),
        (
            vec![
                deployment("web"),
                with(second, "/spec/scaleTargetRef/apiVersion", json!("example.com/v1")),
            ],
            vec![],
        ),
        (vec![deployment("other")], vec!["missing-target"]),
        (vec![greedy.clone(), deployment("other")], vec!["foreign-pods"]),
        (vec![greedy, deployment("other"), rival], vec!["ambiguous-selector"]),
        (vec![deployment("web"), scaled.clone()], vec!["keda-target"]),
        (
            vec![
                deployment("web"),
                with(
                    with(
                        scaled,
                        "/metadata/annotations",
                        json!({"scaledobject.keda.sh/transfer-hpa-ownership": "true"}),
                    ),
                    "/spec/advanced",
                    json!({"horizontalPodAutoscalerConfig": {"name": "web"}}),
                ),
            ],
            vec![],
        ),
        (vec![deployment("web"), vertical], vec!["vertical-autoscaler"]),
        (vec![deployment("web"), off], vec![]),
        (vec![deployment("web"), budget(json!(2))], vec!["disruption-budget"]),
        (vec![deployment("web"), budget(json!("51%"))], vec!["disruption-budget"]),
        (vec![deployment("web"), budget(json!("50%"))], vec![]),
        (
            vec![
                deployment("web"),
                with(budget(Value::Null), "/spec/maxUnavailable", json!("0%")),
            ],
            vec!["disruption-budget"],
        ),
        (
            vec![with(deployment("web"), "/metadata/namespace", json!("elsewhere"))],
            vec!["missing-target"],
        ),
    ];
    for (others, expected) in table {
        assert_eq!(ids(&among(&fixtures::base(), &others)), expected, "{others:#?}");
    }
}

#[test]
fn every_lint_has_a_test_here() {
    // The test reads its own source, so a new lint without a test fails here.
    let this = [
        include_str!("main.rs"),
        include_str!("mistakes.rs"),
        include_str!("predictions.rs"),
    ]
    .concat();
    let untried: Vec<_> = Lint::ALL
        .iter()
        .filter(|lint| !this.contains(&format!("{:?}", lint.id())))
        .collect();
    assert!(untried.is_empty(), "{untried:?}");
}
