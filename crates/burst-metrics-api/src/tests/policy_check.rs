//! Tests of ExternalMetricPolicies: which user may read which external metric.

use super::*;
use burst_model::policies::{PolicySet, PolicySets};
use burst_model::records::Record;

const SPECS: &str = r#"{"rules":[
    {"metric":"burst_headroom","selector":{"matchLabels":{"deployment":"web"}}},
    {"metric":"burst_requests_.*","selector":{"matchExpressions":[{"key":"service","operator":"Exists"}]}},
    {"metric":".*","deny":true}]}"#;

/// A server with these `policies` in its configuration.
fn server(policies: &str) -> TestServer {
    let mut server = TestServer::synced();
    let counting = server.apis().counting;
    let json = format!(r#"{{"cluster":"k","metrics_apis":{{"filter_chain":"metrics","policies":{policies}}}}}"#);
    server.config = Config::parse(json.as_bytes(), Artifact::Full).unwrap();
    server.set_counting(counting);
    server
}

/// Enforces policies that are objects: namespaces with a valid spec, or `None` for one that never had a valid spec.
fn enforce(server: &mut TestServer, sets: &[(&str, Option<&str>)]) {
    let set = |(namespace, spec): &(&str, Option<&str>)| {
        let in_force = spec.map(|spec| vec![("p".into(), spec.into())]);
        let refused = spec.is_none().then(|| "shop/p: it is odd".to_owned());
        PolicySet {
            namespace: (*namespace).into(),
            in_force,
            refused,
        }
    };
    let sets: PolicySets = sets.iter().map(set).collect();
    let root = server.config.root_namespace().unwrap().clone();
    server.policies.refresh(&root, Some(&confirmed(T0)), || sets.to_bytes());
}

fn status(server: &TestServer, metric: &str, selector: &str) -> u16 {
    server
        .status_and_body(get(&format!("{EXTERNAL}/{metric}?labelSelector={selector}")))
        .0
}

#[test]
fn a_request_may_select_no_more_than_its_rule_allows() {
    let mut server = server(r#"{"root_namespace":"istio-system"}"#);
    enforce(&mut server, &[("shop", Some(SPECS))]);
    for (metric, selector, expected) in [
        ("burst_headroom", "deployment%3Dweb", 200),
        ("burst_headroom", "deployment%3Dweb%2Cservice%3Dweb", 200),
        ("Burst%7CHeadroom", "deployment%3Dweb", 200),
        ("burst_headroom", "", 403),
        ("burst_headroom", "deployment", 403),
        ("burst%7Cheadroom", "service%3Dweb", 403),
        ("burst_requests_per_second", "service%3Dweb", 200),
        ("burst_requests_per_second", "service%21%3Dweb", 403),
        ("burst_max_load", "deployment%3Dweb", 403),
        ("no_such_metric", "", 403),
    ] {
        assert_eq!(status(&server, metric, selector), expected, "{metric} {selector}");
    }
    let elsewhere = "/apis/external.metrics.k8s.io/v1beta1/namespaces/odd/burst_headroom";
    assert_eq!(server.status_and_body(get(elsewhere)).0, 200, "another namespace");
    assert_eq!(
        server
            .status_and_body(get(&format!("{CUSTOM}/services/web/burst_headroom")))
            .0,
        200,
        "another API"
    );
}

#[test]
fn a_refusal_names_the_policy_and_the_rule() {
    let mut server = server(r#"{"root_namespace":"istio-system"}"#);
    enforce(&mut server, &[("shop", Some(SPECS))]);
    let (code, reason, message) = server.error(get(&format!("{EXTERNAL}/burst_headroom?labelSelector=a")));
    assert_eq!((code, reason.as_str()), (403, "Forbidden"));
    assert_eq!(
        message,
        "burst_headroom.external.metrics.k8s.io is forbidden: ExternalMetricPolicy \"shop/p\" rule 1 requires a selector \
         that is at least as narrow as \"deployment=web\""
    );
}

#[test]
fn policies_distinguish_users_and_groups() {
    let server = server(
        r#"{"given":[{"name":"team","subjects":[{"kind":"User","name":"alice"},{"kind":"Group","name":"a,b"}],
            "rules":[{"metric":".*","deny":true}]}]}"#,
    );
    let path = format!("{EXTERNAL}/burst_headroom");
    let status = |user: &str, groups: &[&str]| {
        let request = TestRequest {
            user: user.as_bytes(),
            groups,
            ..get(&path)
        };
        server.status_and_body(request).0
    };
    assert_eq!(status("bob", &["system:authenticated"]), 200);
    assert_eq!(status("alice", &[]), 403);
    assert_eq!(status("bob", &["system:authenticated", "a,b"]), 403);
    assert_eq!(
        status("bob", &["a", "b"]),
        200,
        "a group name with a comma is one group"
    );
}

#[test]
fn the_default_decides_if_no_policy_applies() {
    for (policies, expected) in [
        ("{}", 200),
        (r#"{"default":"allow"}"#, 200),
        (r#"{"default":"deny"}"#, 403),
    ] {
        assert_eq!(status(&server(policies), "burst_headroom", ""), expected, "{policies}");
    }
}

#[test]
fn unknown_policies_are_an_error() {
    let mut server = server(r#"{"root_namespace":"istio-system"}"#);
    let (code, _, message) = server.error(get(&format!("{EXTERNAL}/burst_headroom")));
    assert_eq!(
        (code, message.as_str()),
        (503, "the ExternalMetricPolicies have not been read yet")
    );
    enforce(&mut server, &[("shop", None)]);
    let (code, _, message) = server.error(get(&format!("{EXTERNAL}/burst_headroom")));
    assert_eq!(
        (code, message.as_str()),
        (
            503,
            "the ExternalMetricPolicies of namespace shop are refused, and none were in force before: shop/p: it is odd"
        )
    );
}

#[test]
fn a_long_metric_name_is_refused_and_not_matched() {
    let server = server(r#"{"default":"deny"}"#);
    assert_eq!(status(&server, &"a".repeat(512), ""), 403);
    assert_eq!(status(&server, &"a".repeat(513), ""), 400);
}

/// Another adapter may read such a name as all namespaces, and no policy applies to it.
#[test]
fn an_invalid_namespace_is_refused_if_there_are_policies() {
    let path = |namespace: &str| format!("/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/burst_headroom");
    let mut server = server(r#"{"root_namespace":"istio-system"}"#);
    enforce(&mut server, &[("shop", Some(SPECS))]);
    for namespace in ["*", "%2A", "-shop", "shop%20", "Shop"] {
        let (code, reason, message) = server.error(get(&path(namespace)));
        assert_eq!((code, reason.as_str()), (400, "BadRequest"), "{namespace}");
        assert!(message.contains("is not the name of a namespace"), "{message}");
        let routed = server.route(get(&path(namespace)));
        assert!(
            matches!(routed, RoutedRequest::Answered(_)),
            "the metric is ours: {routed:?}"
        );
    }
    assert_eq!(server.status_and_body(get(&path("default"))).0, 200);
    assert_eq!(
        TestServer::synced().status_and_body(get(&path("*"))).0,
        200,
        "without policies, it is a namespace without series"
    );
}

#[test]
fn policies_apply_to_the_metrics_of_another_adapter() {
    let json = r#"{"cluster":"k","metrics_apis":{"filter_chain":"m","fallback":{"external":{"cluster":"keda"}},"policies":
        {"given":[{"name":"p","rules":[{"metric":"s0-.*","selector":{"matchLabels":{"team":"web"}}}]}]}}}"#;
    let mut server = TestServer::synced();
    server.config = Config::parse(json.as_bytes(), Artifact::Full).unwrap();
    let refusal = |path: &str| match server.route(get(path)) {
        RoutedRequest::Delegated => None,
        RoutedRequest::Answered(response) => Some(response.answer.status),
    };
    assert_eq!(refusal(&format!("{EXTERNAL}/s0-queue?labelSelector=team%3Dweb")), None);
    assert_eq!(refusal(&format!("{EXTERNAL}/s0-queue")), Some(403));
    assert_eq!(refusal(&format!("{EXTERNAL}/s0-queue?labelSelector=%3D")), Some(400));
    assert_eq!(refusal(&format!("{EXTERNAL}/other")), None);
    let all_namespaces = "/apis/external.metrics.k8s.io/v1beta1/namespaces/*/other";
    assert_eq!(refusal(all_namespaces), Some(400));
}
