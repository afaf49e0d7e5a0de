use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

const CUSTOM: &str = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop";
const EXTERNAL: &str = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop";

fn access(method: &str, path: &str, headers: &[(&str, &str)]) -> Result<AccessReview, Answer> {
    let headers = headers.iter().map(|(name, value)| (*name, value.as_bytes()));
    AccessReview::of(method.as_bytes(), path.as_bytes(), headers)
}

fn alice(method: &str, path: &str) -> AccessReview {
    access(method, path, &[("x-remote-user", "alice"), ("x-remote-group", "dev")]).unwrap()
}

/// The question, as far as it is about what.
fn asked(method: &str, path: &str) -> Value {
    let question: Value = serde_json::from_str(&alice(method, path).question()).unwrap();
    let spec = &question["spec"];
    let what = spec.get("resourceAttributes").or(spec.get("nonResourceAttributes"));
    what.unwrap().clone()
}

#[test]
fn a_question_is_a_subject_access_review() {
    let headers = [
        ("x-remote-user", "alice"),
        ("x-remote-group", "dev"),
        ("x-remote-group", "a,b"),
        ("x-remote-extra-scopes", "read"),
        ("x-remote-extra-scopes", "write"),
    ];
    let access = access("GET", &format!("{EXTERNAL}/burst_headroom"), &headers).unwrap();
    let question: Value = serde_json::from_str(&access.question()).unwrap();
    let expected = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": "alice",
            "groups": ["dev", "a,b", "system:authenticated"],
            "extra": {"scopes": ["read", "write"]},
            "resourceAttributes": {
                "namespace": "shop", "verb": "list", "group": "external.metrics.k8s.io", "version": "v1beta1",
                "resource": "burst_headroom",
            },
        },
    });
    assert_eq!(question, expected);
}

#[test]
fn attributes_are_those_of_the_api_servers_own_review() {
    for (method, path, expected) in [
        (
            "GET",
            format!("{CUSTOM}/deployments.apps/web/m"),
            json!({"verb": "get", "resource": "deployments.apps", "name": "web", "subresource": "m"}),
        ),
        (
            "HEAD",
            format!("{CUSTOM}/pods/%2A/m?labelSelector=a%3Db"),
            json!({"verb": "get", "resource": "pods", "name": "*", "subresource": "m"}),
        ),
        (
            "GET",
            format!("{CUSTOM}/metrics/m"),
            json!({"verb": "get", "resource": "metrics", "name": "m"}),
        ),
        (
            "DELETE",
            format!("{CUSTOM}/pods"),
            json!({"verb": "deletecollection", "resource": "pods"}),
        ),
        (
            "POST",
            format!("{CUSTOM}/status"),
            json!({"verb": "create", "resource": "namespaces", "name": "shop", "subresource": "status"}),
        ),
        (
            "BREW",
            format!("{CUSTOM}/pods/a/m"),
            json!({"resource": "pods", "name": "a", "subresource": "m"}),
        ),
    ] {
        let mut expected = expected;
        expected["namespace"] = "shop".into();
        expected["group"] = "custom.metrics.k8s.io".into();
        expected["version"] = "v1beta2".into();
        assert_eq!(asked(method, &path), expected, "{method} {path}");
    }
    for path in [
        "/",
        "/apis",
        "/apis/custom.metrics.k8s.io",
        "/apis/custom.metrics.k8s.io/v1beta2/",
        "/openapi/v2",
    ] {
        assert_eq!(asked("GET", path), json!({"path": path, "verb": "get"}), "{path}");
    }
}

#[test]
fn lists_are_reviewed_with_what_they_select() {
    let one = |key: &str, operator: &str, values: &[&str]| match values {
        [] => json!({"key": key, "operator": operator}),
        values => json!({"key": key, "operator": operator, "values": values}),
    };
    for (query, labels, fields) in [
        ("", vec![], vec![]),
        ("labelSelector=queue%3Da", vec![one("queue", "In", &["a"])], vec![]),
        (
            "labelSelector=b+notin+%28y%2Cx%29%2C%21c%2Cd%2Ca%21%3D1%2Ce%3E1",
            vec![
                one("a", "NotIn", &["1"]),
                one("b", "NotIn", &["x", "y"]),
                one("c", "DoesNotExist", &[]),
                one("d", "Exists", &[]),
            ],
            vec![],
        ),
        ("labelSelector=a%3D%3D%3Db", vec![], vec![]),
        ("labelSelector=a&labelSelector=b", vec![one("a", "Exists", &[])], vec![]),
        (
            "fieldSelector=x%3D1%2Cw%21%3D2",
            vec![],
            vec![one("w", "NotIn", &["2"]), one("x", "In", &["1"])],
        ),
    ] {
        let asked = asked("GET", &format!("{EXTERNAL}/m?{query}"));
        assert_eq!(asked["verb"], "list", "{query}");
        for (key, expected) in [("labelSelector", labels), ("fieldSelector", fields)] {
            let found = asked.pointer(&format!("/{key}/requirements"));
            let expected = (!expected.is_empty()).then(|| Value::from(expected));
            assert_eq!(found, expected.as_ref(), "{query}");
        }
    }
}

#[test]
fn a_selected_name_is_the_name_unless_the_query_is_amiss() {
    let name = |query: &str| {
        let asked = asked("GET", &format!("{EXTERNAL}/m?fieldSelector=metadata.name%3Dx{query}"));
        (asked["verb"].clone(), asked.get("name").cloned())
    };
    assert_eq!(name(""), ("list".into(), Some("x".into())));
    assert_eq!(name("&watch"), ("watch".into(), Some("x".into())));
    for amiss in ["%2Fy", "&limit=a", "&labelSelector=%3D"] {
        assert_eq!(name(amiss), ("list".into(), None), "{amiss}");
    }
}

#[test]
fn masters_and_the_health_of_the_server_are_exempt() {
    let by = |user: &str, group: &str, path: &str| {
        let access = access("GET", path, &[("x-remote-user", user), ("x-remote-group", group)]);
        access.unwrap().is_exempt()
    };
    assert!(by("root", "system:masters", &format!("{EXTERNAL}/m")));
    assert!(by("alice", "dev", "/readyz") && by("alice", "dev", "/healthz?verbose"));
    for path in ["/readyz/", "/livez/x", "/apis", "/version", "/"] {
        assert!(!by("alice", "dev", path), "{path}");
    }
    assert!(!by("system:masters", "dev", "/apis"));
    assert!(!by("alice", "x,system:masters", "/apis"));
}

#[test]
fn who_may_not_is_told_so_in_kubernetes_words() {
    let told = |path: &str, reason: &str| {
        let answer = alice("GET", path).forbidden(reason);
        assert_eq!(answer.status, 403);
        assert!(answer.headers.contains(&("x-content-type-options", "nosniff".into())));
        let status: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(status["reason"], "Forbidden");
        (
            status["message"].as_str().unwrap().to_owned(),
            status["details"].clone(),
        )
    };
    let (message, details) = told(&format!("{CUSTOM}/pods/*/m"), "");
    assert_eq!(
        message,
        r#"pods.custom.metrics.k8s.io "*" is forbidden: User "alice" cannot get resource "pods/m" in API group "custom.metrics.k8s.io" in the namespace "shop""#
    );
    assert_eq!(
        details,
        json!({"name": "*", "group": "custom.metrics.k8s.io", "kind": "pods"})
    );
    let (message, _) = told("/apis/custom.metrics.k8s.io/v1beta1/nodes/<a>/<m>", "RBAC: <why>");
    assert_eq!(
        message,
        r#"nodes.custom.metrics.k8s.io "<a>" is forbidden: User "alice" cannot get resource "nodes/&lt;m&gt;" in API group "custom.metrics.k8s.io" at the cluster scope: RBAC: <why>"#
    );
    let (message, _) = told(&format!("{EXTERNAL}/m"), "");
    assert_eq!(
        message,
        r#"m.external.metrics.k8s.io is forbidden: User "alice" cannot list resource "m" in API group "external.metrics.k8s.io" in the namespace "shop""#
    );
    let (message, details) = told("/apis", "");
    assert_eq!(
        (message.as_str(), details),
        (r#"forbidden: User "alice" cannot get path "/apis""#, json!({}))
    );
}

#[test]
fn nobody_is_unauthorized_and_what_cannot_be_read_is_bad() {
    assert_eq!(access("GET", "/apis", &[]).unwrap_err().status, 401);
    let user = [("x-remote-user", "alice")];
    assert_eq!(access("GET", "/%ff", &user).unwrap_err().status, 400);
    assert_eq!(
        access("GET", &format!("/{}", "a".repeat(70_000)), &user)
            .unwrap_err()
            .status,
        414
    );
}

proptest! {
    #[test]
    fn arbitrary_requests_are_asked_about_or_refused(
        method in proptest::collection::vec(any::<u8>(), 0..8),
        path in proptest::collection::vec(any::<u8>(), 0..64),
        below in "[a-z/%?=&.*+,!(){}]{0,40}",
        value in proptest::collection::vec(any::<u8>(), 0..16),
    ) {
        for path in [path, format!("{EXTERNAL}/{below}").into_bytes()] {
            let headers = [("x-remote-user", &value[..]), ("x-remote-group", &value), ("x-remote-extra-a", &value)];
            if let Ok(access) = AccessReview::of(&method, &path, headers) {
                let question: Value = serde_json::from_str(&access.question()).unwrap();
                prop_assert_eq!(&question["kind"], "SubjectAccessReview");
                prop_assert_eq!(access.forbidden("no").status, 403);
            }
        }
    }
}
