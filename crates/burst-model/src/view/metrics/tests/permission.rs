//! Who may read which external metric.

use super::*;
use crate::config::Artifact;
use crate::policies::{PolicySet, PolicySets};
use crate::records::Record;

const SPECS: &str = r#"{"rules":[
    {"metric":"burst_headroom","selector":{"matchLabels":{"deployment":"web"}}},
    {"metric":"burst_requests_.*","selector":{"matchExpressions":[{"key":"service","operator":"Exists"}]}},
    {"metric":".*","deny":true}]}"#;

/// A world with these policies, as they stand in the configuration.
fn world(policies: &str) -> World {
    let mut world = World::known();
    let counting = world.apis().counting;
    let json = format!(r#"{{"cluster":"k","metrics_apis":{{"filter_chain":"metrics","policies":{policies}}}}}"#);
    world.config = Config::parse(json.as_bytes(), Artifact::Full).unwrap();
    world.count(counting);
    world
}

/// Puts policies that are objects in force: a namespace, and a spec or nothing for one that never was without a fault.
fn enforce(world: &mut World, sets: &[(&str, Option<&str>)]) {
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
    let root = world.config.root_namespace().unwrap().clone();
    world.enforced.refresh(&root, Some(&confirmed(T0)), || sets.to_bytes());
}

fn status(world: &World, metric: &str, selector: &str) -> u16 {
    world
        .ask(get(&format!("{EXTERNAL}/{metric}?labelSelector={selector}")))
        .0
}

#[test]
fn a_query_passes_if_it_asks_for_no_more_than_its_rule_lets_pass() {
    let mut world = world(r#"{"root_namespace":"istio-system"}"#);
    enforce(&mut world, &[("shop", Some(SPECS))]);
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
        assert_eq!(status(&world, metric, selector), expected, "{metric} {selector}");
    }
    let elsewhere = "/apis/external.metrics.k8s.io/v1beta1/namespaces/odd/burst_headroom";
    assert_eq!(world.ask(get(elsewhere)).0, 200, "another namespace");
    assert_eq!(
        world.ask(get(&format!("{CUSTOM}/services/web/burst_headroom"))).0,
        200,
        "another API"
    );
}

#[test]
fn a_refusal_names_policy_and_rule() {
    let mut world = world(r#"{"root_namespace":"istio-system"}"#);
    enforce(&mut world, &[("shop", Some(SPECS))]);
    let (code, reason, message) = world.refusal(get(&format!("{EXTERNAL}/burst_headroom?labelSelector=a")));
    assert_eq!((code, reason.as_str()), (403, "Forbidden"));
    assert_eq!(
        message,
        "burst_headroom.external.metrics.k8s.io is forbidden: ExternalMetricPolicy \"shop/p\" rule 1 asks for a selector \
         that is at least as narrow as \"deployment=web\""
    );
}

#[test]
fn users_and_groups_are_told_apart() {
    let world = world(
        r#"{"given":[{"name":"team","subjects":[{"kind":"User","name":"alice"},{"kind":"Group","name":"a,b"}],
            "rules":[{"metric":".*","deny":true}]}]}"#,
    );
    let path = format!("{EXTERNAL}/burst_headroom");
    let ask = |user: &str, groups: &[&str]| {
        let groups: Vec<_> = groups.iter().map(ToString::to_string).collect();
        let request = Request {
            user: user.as_bytes(),
            groups: &groups,
            ..get(&path)
        };
        world.ask(request).0
    };
    assert_eq!(ask("bob", &["system:authenticated"]), 200);
    assert_eq!(ask("alice", &[]), 403);
    assert_eq!(ask("bob", &["system:authenticated", "a,b"]), 403);
    assert_eq!(ask("bob", &["a", "b"]), 200, "a name with a comma is one name");
}

#[test]
fn what_no_policy_is_for_ends_as_the_configuration_says() {
    for (policies, expected) in [
        ("{}", 200),
        (r#"{"default":"allow"}"#, 200),
        (r#"{"default":"deny"}"#, 403),
    ] {
        assert_eq!(status(&world(policies), "burst_headroom", ""), expected, "{policies}");
    }
}

#[test]
fn what_is_not_known_of_policies_is_an_error_and_no_value() {
    let mut world = world(r#"{"root_namespace":"istio-system"}"#);
    let (code, _, message) = world.refusal(get(&format!("{EXTERNAL}/burst_headroom")));
    assert_eq!(
        (code, message.as_str()),
        (503, "the ExternalMetricPolicies have not been read yet")
    );
    enforce(&mut world, &[("shop", None)]);
    let (code, _, message) = world.refusal(get(&format!("{EXTERNAL}/burst_headroom")));
    assert_eq!(
        (code, message.as_str()),
        (
            503,
            "the ExternalMetricPolicies of namespace shop are refused, and none were in force before: shop/p: it is odd"
        )
    );
}

#[test]
fn a_name_that_nobody_would_write_is_not_compared_with_patterns() {
    let world = world(r#"{"default":"deny"}"#);
    assert_eq!(status(&world, &"a".repeat(512), ""), 403);
    assert_eq!(status(&world, &"a".repeat(513), ""), 400);
}

/// Another adapter may take it for all namespaces, and a policy is for one namespace or for all that have a name.
#[test]
fn what_is_no_name_of_a_namespace_is_refused_where_policies_decide() {
    let path = |namespace: &str| format!("/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/burst_headroom");
    let mut world = world(r#"{"root_namespace":"istio-system"}"#);
    enforce(&mut world, &[("shop", Some(SPECS))]);
    for namespace in ["*", "%2A", "-shop", "shop%20", "Shop"] {
        let (code, reason, message) = world.refusal(get(&path(namespace)));
        assert_eq!((code, reason.as_str()), (400, "BadRequest"), "{namespace}");
        assert!(message.contains("is no name of a namespace"), "{message}");
        let passes = others::goes_on(&world.config, world.apis(), world.sources(), get(&path(namespace)));
        assert!(matches!(passes, Ok(false)), "it is ours: {passes:?}");
    }
    assert_eq!(world.ask(get(&path("default"))).0, 200);
    assert_eq!(
        World::known().ask(get(&path("*"))).0,
        200,
        "without policies it is a namespace without series"
    );
}

#[test]
fn what_another_adapter_answers_is_decided_by_the_same_policies() {
    let json = r#"{"cluster":"k","metrics_apis":{"filter_chain":"m","fallback":{"external":{"cluster":"keda"}},"policies":
        {"given":[{"name":"p","rules":[{"metric":"s0-.*","selector":{"matchLabels":{"team":"web"}}}]}]}}}"#;
    let mut world = World::known();
    world.config = Config::parse(json.as_bytes(), Artifact::Full).unwrap();
    let refusal = |path: &str| {
        let (path, sources) = (format!("{EXTERNAL}/{path}"), world.sources());
        match others::goes_on(&world.config, world.apis(), sources, get(&path)) {
            Ok(goes_on) => {
                assert!(goes_on, "{path}");
                None
            }
            Err(answer) => Some(answer.status),
        }
    };
    assert_eq!(refusal("s0-queue?labelSelector=team%3Dweb"), None);
    assert_eq!(refusal("s0-queue"), Some(403));
    assert_eq!(refusal("s0-queue?labelSelector=%3D"), Some(400));
    assert_eq!(refusal("other"), None);
    let everywhere = get("/apis/external.metrics.k8s.io/v1beta1/namespaces/*/other");
    let refused = others::goes_on(&world.config, world.apis(), world.sources(), everywhere);
    assert_eq!(refused.err().map(|answer| answer.status), Some(400));
}
