use super::*;
use burst_model::config::Authorization;
use proptest::prelude::*;
use serde_json::{Value, json};

const CUSTOM: &str = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop";
const EXTERNAL: &str = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop";

fn request(method: &str, path: &str, headers: &[(&str, &str)]) -> Result<MetricsRequest, LocalReply> {
    let pseudo_headers = [(":method", method), (":path", path)];
    let all = pseudo_headers.iter().chain(headers);
    let all = all.map(|(name, value)| (*name, value.as_bytes()));
    MetricsRequest::parse(all, Authorization::SubjectAccessReview)
}

fn request_of_alice(method: &str, path: &str) -> MetricsRequest {
    request(method, path, &[("x-remote-user", "alice"), ("x-remote-group", "dev")]).unwrap()
}

/// The attributes in the review of a request.
fn attributes(method: &str, path: &str) -> Value {
    let request = request_of_alice(method, path);
    let review: Value = serde_json::from_str(&AccessReview::of(&request).to_json()).unwrap();
    let spec = &review["spec"];
    let attributes = spec.get("resourceAttributes").or(spec.get("nonResourceAttributes"));
    attributes.unwrap().clone()
}

#[test]
fn a_review_names_the_user_and_the_attributes() {
    let headers = [
        ("x-remote-user", "alice"),
        ("x-remote-group", "dev"),
        ("x-remote-group", "a,b"),
        ("x-remote-extra-scopes", "read"),
        ("x-remote-extra-scopes", "write"),
    ];
    let request = request("GET", &format!("{EXTERNAL}/burst_headroom"), &headers).unwrap();
    let review: Value = serde_json::from_str(&AccessReview::of(&request).to_json()).unwrap();
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
    assert_eq!(review, expected);
}

#[test]
fn attributes_equal_those_of_an_api_server() {
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
        assert_eq!(attributes(method, &path), expected, "{method} {path}");
    }
    for path in [
        "/",
        "/apis",
        "/apis/custom.metrics.k8s.io",
        "/apis/custom.metrics.k8s.io/v1beta2/",
        "/openapi/v2",
    ] {
        assert_eq!(attributes("GET", path), json!({"path": path, "verb": "get"}), "{path}");
    }
}

#[test]
fn the_review_of_a_list_has_its_selectors() {
    let requirement = |key: &str, operator: &str, values: &[&str]| match values {
        [] => json!({"key": key, "operator": operator}),
        values => json!({"key": key, "operator": operator, "values": values}),
    };
    for (query, labels, fields) in [
        ("", vec![], vec![]),
        (
            "labelSelector=queue%3Da",
            vec![requirement("queue", "In", &["a"])],
            vec![],
        ),
        (
            "labelSelector=b+notin+%28y%2Cx%29%2C%21c%2Cd%2Ca%21%3D1%2Ce%3E1",
            vec![
                requirement("a", "NotIn", &["1"]),
                requirement("b", "NotIn", &["x", "y"]),
                requirement("c", "DoesNotExist", &[]),
                requirement("d", "Exists", &[]),
            ],
            vec![],
        ),
        ("labelSelector=a%3D%3D%3Db", vec![], vec![]),
        (
            "labelSelector=a&labelSelector=b",
            vec![requirement("a", "Exists", &[])],
            vec![],
        ),
        (
            "fieldSelector=x%3D1%2Cw%21%3D2",
            vec![],
            vec![requirement("w", "NotIn", &["2"]), requirement("x", "In", &["1"])],
        ),
    ] {
        let attributes = attributes("GET", &format!("{EXTERNAL}/m?{query}"));
        assert_eq!(attributes["verb"], "list", "{query}");
        for (key, expected) in [("labelSelector", labels), ("fieldSelector", fields)] {
            let found = attributes.pointer(&format!("/{key}/requirements"));
            let expected = (!expected.is_empty()).then(|| Value::from(expected));
            assert_eq!(found, expected.as_ref(), "{query}");
        }
    }
}

#[test]
fn a_selected_name_is_the_name_unless_the_query_is_invalid() {
    let name = |query: &str| {
        let attributes = attributes("GET", &format!("{EXTERNAL}/m?fieldSelector=metadata.name%3Dx{query}"));
        (attributes["verb"].clone(), attributes.get("name").cloned())
    };
    assert_eq!(name(""), ("list".into(), Some("x".into())));
    assert_eq!(name("&watch"), ("watch".into(), Some("x".into())));
    for invalid in ["%2Fy", "&limit=a", "&labelSelector=%3D"] {
        assert_eq!(name(invalid), ("list".into(), None), "{invalid}");
    }
}

#[test]
fn system_masters_and_health_checks_are_exempt() {
    let is_exempt = |user: &str, group: &str, path: &str| {
        let request = request("GET", path, &[("x-remote-user", user), ("x-remote-group", group)]).unwrap();
        AccessReview::of(&request).is_exempt()
    };
    assert!(is_exempt("root", "system:masters", &format!("{EXTERNAL}/m")));
    assert!(is_exempt("alice", "dev", "/readyz") && is_exempt("alice", "dev", "/healthz?verbose"));
    for path in ["/readyz/", "/livez/x", "/apis", "/version", "/"] {
        assert!(!is_exempt("alice", "dev", path), "{path}");
    }
    assert!(!is_exempt("system:masters", "dev", "/apis"));
    assert!(!is_exempt("alice", "x,system:masters", "/apis"));
}

#[test]
fn a_user_without_permission_gets_the_message_of_kubernetes() {
    let forbidden = |path: &str, reason: &str| {
        let request = request_of_alice("GET", path);
        let answer = AccessReview::of(&request).forbidden(reason);
        assert_eq!(answer.status, 403);
        assert!(answer.headers.contains(&("x-content-type-options", "nosniff".into())));
        let status: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(status["reason"], "Forbidden");
        (
            status["message"].as_str().unwrap().to_owned(),
            status["details"].clone(),
        )
    };
    let (message, details) = forbidden(&format!("{CUSTOM}/pods/*/m"), "");
    assert_eq!(
        message,
        r#"pods.custom.metrics.k8s.io "*" is forbidden: User "alice" cannot get resource "pods/m" in API group "custom.metrics.k8s.io" in the namespace "shop""#
    );
    assert_eq!(
        details,
        json!({"name": "*", "group": "custom.metrics.k8s.io", "kind": "pods"})
    );
    let (message, _) = forbidden("/apis/custom.metrics.k8s.io/v1beta1/nodes/<a>/<m>", "RBAC: <why>");
    assert_eq!(
        message,
        r#"nodes.custom.metrics.k8s.io "<a>" is forbidden: User "alice" cannot get resource "nodes/&lt;m&gt;" in API group "custom.metrics.k8s.io" at the cluster scope: RBAC: <why>"#
    );
    let (message, _) = forbidden(&format!("{EXTERNAL}/m"), "");
    assert_eq!(
        message,
        r#"m.external.metrics.k8s.io is forbidden: User "alice" cannot list resource "m" in API group "external.metrics.k8s.io" in the namespace "shop""#
    );
    let (message, details) = forbidden("/apis", "");
    assert_eq!(
        (message.as_str(), details),
        (r#"forbidden: User "alice" cannot get path "/apis""#, json!({}))
    );
}

#[test]
fn a_request_without_a_user_or_with_an_invalid_path_is_refused() {
    assert_eq!(request("GET", "/apis", &[]).unwrap_err().status, 401);
    assert_eq!(
        request("GET", "/%ff", &[]).unwrap_err().status,
        401,
        "the user comes first"
    );
    let user = [("x-remote-user", "alice")];
    assert_eq!(request("GET", "/%ff", &user).unwrap_err().status, 400);
    assert_eq!(
        request("GET", &format!("/{}", "a".repeat(70_000)), &user)
            .unwrap_err()
            .status,
        414
    );
}

proptest! {
    #[test]
    fn arbitrary_requests_are_reviewed_or_refused(
        method in proptest::collection::vec(any::<u8>(), 0..8),
        path in proptest::collection::vec(any::<u8>(), 0..64),
        below in "[a-z/%?=&.*+,!(){}]{0,40}",
        value in proptest::collection::vec(any::<u8>(), 0..16),
    ) {
        for path in [path, format!("{EXTERNAL}/{below}").into_bytes()] {
            let headers = [
                (":method", &method[..]),
                (":path", &path),
                ("x-remote-user", &value),
                ("x-remote-group", &value),
                ("x-remote-extra-a", &value),
            ];
            if let Ok(request) = MetricsRequest::parse(headers, Authorization::SubjectAccessReview) {
                let review = AccessReview::of(&request);
                let json: Value = serde_json::from_str(&review.to_json()).unwrap();
                prop_assert_eq!(&json["kind"], "SubjectAccessReview");
                prop_assert_eq!(review.forbidden("no").status, 403);
            }
        }
    }
}
