//! Mistakes of writing: kinds, names and units that Kubernetes accepts and that cannot be meant.

use burst_hpa::{Node, Objects, Options, Severity, admit, lint, lint_among};
use serde_json::{Value, json};

use crate::fixtures::{base, deployment, hpa, with};
use crate::{alone, among, ids};

#[test]
fn a_kind_that_its_group_does_not_have_is_found() {
    let target = |api_version: &str, kind: &str| json!({"apiVersion": api_version, "kind": kind, "name": "web"});
    for (target, advice) in [
        (
            target("apps/v1", "deployment"),
            "Set the kind to Deployment, and the apiVersion to apps/v1.",
        ),
        (
            target("apps/v1", "Deploy"),
            "Set the kind to Deployment, and the apiVersion to apps/v1.",
        ),
        (
            target("apps/v1", "deployments"),
            "Set the kind to Deployment, and the apiVersion to apps/v1.",
        ),
        (
            target("apps/v1", "Statefullset"),
            "Set the kind to StatefulSet, and the apiVersion to apps/v1.",
        ),
        (
            target("apps/v1", "rs"),
            "Set the kind to ReplicaSet, and the apiVersion to apps/v1.",
        ),
        (target("apps/v1", "ReplicationController"), "Set the apiVersion to v1."),
    ] {
        let findings = alone("/spec/scaleTargetRef", target.clone());
        assert_eq!(ids(&findings), ["unknown-kind"], "{target}");
        assert_eq!(findings[0].advice, advice, "{target}");
    }
    for target in [
        target("v1", "ReplicationController"),
        target("apps/v1", "ReplicaSet"),
        target("example.com/v1", "deployment"),
    ] {
        assert_eq!(ids(&alone("/spec/scaleTargetRef", target.clone())), [""; 0], "{target}");
    }
    // Before Kubernetes 1.34, kube-apiserver accepts a Deployment without an API group.
    let written = with(
        base(),
        "/spec/scaleTargetRef",
        json!({"kind": "Deployment", "name": "web"}),
    )
    .to_string();
    let options = Options::kubernetes_1(33);
    let findings = lint(&admit(&Node::from_json(&written).unwrap(), options).unwrap(), options);
    assert_eq!(ids(&findings), ["unknown-kind"]);
    assert_eq!(findings[0].advice, "Set the apiVersion to apps/v1.");
    let findings = alone("/spec/scaleTargetRef/kind", json!("deployment"));
    assert_eq!(
        findings[0].effect,
        "The apps API group has no kind \"deployment\", so the controller can never find the target (FailedGetScale)."
    );
}

#[test]
fn a_similar_target_is_named() {
    let advice = |others: &[Value]| {
        let findings = among(&base(), others);
        assert_eq!(ids(&findings), ["missing-target"]);
        findings[0].advice.clone()
    };
    assert_eq!(
        advice(&[deployment("cart"), deployment("wep")]),
        "Did you mean Deployment default/wep?"
    );
    let set = with(deployment("web"), "/kind", json!("StatefulSet"));
    assert_eq!(
        advice(&[deployment("wep"), set]),
        "Did you mean StatefulSet default/web?"
    );
    let elsewhere = with(deployment("wep"), "/metadata/namespace", json!("elsewhere"));
    for others in [deployment("cart"), elsewhere, deployment("db")] {
        assert!(
            advice(std::slice::from_ref(&others)).starts_with("Check the kind"),
            "{others}"
        );
    }
}

#[test]
fn a_target_that_is_not_in_the_cluster_is_an_error() {
    let found = |target: &Value, others: &[Value]| {
        let object = with(base(), "/spec/scaleTargetRef", target.clone());
        let mut objects = Objects::of_cluster();
        for other in others {
            objects.insert(other.clone()).unwrap();
        }
        lint_among(&hpa(&object), &objects, Options::default())
    };
    let web = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    let findings = found(&web, &[]);
    assert_eq!(ids(&findings), ["missing-target"]);
    assert_eq!(findings[0].severity, Severity::Error);
    assert_eq!(
        findings[0].effect,
        "Deployment default/web does not exist, so the controller scales nothing (FailedGetScale)."
    );
    assert_eq!(findings[0].advice, "Correct the scaleTargetRef, or delete the HPA.");
    assert_eq!(
        found(&web, &[deployment("wep")])[0].advice,
        "Did you mean Deployment default/wep?"
    );
    assert_eq!(found(&web, &[deployment("web")]), []);
    let rollout = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "web"});
    assert_eq!(
        found(&rollout, &[deployment("wep")]),
        [],
        "the cluster may have any other kind"
    );
}

fn average(resource: &str, value: &str) -> Value {
    let target = json!({"type": "AverageValue", "averageValue": value});
    json!([{"type": "Resource", "resource": {"name": resource, "target": target}}])
}

#[test]
fn memory_in_thousandths_of_a_byte_is_found() {
    let findings = alone("/spec/metrics", average("memory", "500m"));
    assert_eq!(ids(&findings), ["tiny-memory-target"]);
    assert_eq!(findings[0].field, "spec.metrics[0].resource.target.averageValue");
    assert_eq!(
        findings[0].effect,
        "500m is 0.5 bytes of memory for a pod, because m stands for thousandths. Every pod uses more, so the HPA scales up to \
         maxReplicas."
    );
    assert_eq!(
        ids(&alone("/spec/metrics", average("memory", "500"))),
        ["tiny-memory-target"]
    );
    for (resource, value) in [
        ("memory", "64Ki"),
        ("memory", "500M"),
        ("memory", "8E"),
        ("cpu", "500m"),
    ] {
        let findings = ids(&alone("/spec/metrics", average(resource, value)));
        assert!(!findings.contains(&"tiny-memory-target"), "{resource} {value}");
    }
}

#[test]
fn an_average_value_beyond_the_limits_is_found() {
    let with_limits = |first: &str, second: Option<&str>| {
        let container = |name: &str, limit: Option<&str>| {
            let limits = limit.map(|limit| json!({"limits": {"memory": limit}}));
            json!({"name": name, "resources": limits.unwrap_or(json!({}))})
        };
        let containers = json!([container("app", Some(first)), container("log", second)]);
        with(deployment("web"), "/spec/template/spec/containers", containers)
    };
    let found = |value: &str, target: Value| among(&with(base(), "/spec/metrics", average("memory", value)), &[target]);
    let findings = found("1Gi", with_limits("512Mi", Some("256Mi")));
    assert_eq!(ids(&findings), ["unreachable-value"]);
    assert_eq!(
        findings[0].effect,
        "The limits cap the memory usage of a pod at 512Mi + 256Mi. The controller scales up only above the target of 1Gi plus \
         the tolerance (10 %), so this metric never causes a scale-up."
    );
    // 768Mi is 1.1 times 698.2Mi, and the tolerance is 10 %.
    assert_eq!(
        ids(&found("699Mi", with_limits("512Mi", Some("256Mi")))),
        ["unreachable-value"]
    );
    assert_eq!(ids(&found("698Mi", with_limits("512Mi", Some("256Mi")))), [""; 0]);
    assert_eq!(
        ids(&found("1Gi", with_limits("512Mi", None))),
        [""; 0],
        "a container has no limit"
    );
    assert_eq!(
        ids(&found("1Gi", deployment("web"))),
        [""; 0],
        "no container has a limit"
    );
}
