//! Policies between the real HPA controller and the metrics.

use burst_testkit::{
    Controllers, Version,
    metrics_apis::{
        SOON, Stage, shop,
        workers::{Worker, wait_for_replicas, wait_until_active},
    },
    repository, wait,
};
use serde_json::{Value, json};

use crate::scaling::{RATE, RATES, external, value};

pub(crate) const OBJECTS: &str = r#""policies": {"root_namespace": "istio-system"}, "#;

pub(crate) fn apply(stage: &Stage, name: &str, namespace: &str, spec: &Value) {
    let policy = json!({
        "apiVersion": "burstmetrics.dev/v1alpha1",
        "kind": "ExternalMetricPolicy",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    });
    let arguments = ["apply", "--filename=-"];
    wait::for_ok(SOON, name, || {
        stage.cluster.try_kubectl(&arguments, &policy.to_string()).map(drop)
    });
}

pub(crate) fn define(stage: &Stage) {
    let file = repository().join("istio/metrics-apis/policies.yaml");
    stage
        .cluster
        .kubectl(&["apply", "--filename", file.to_str().expect("a path that is text")]);
}

/// Waits until the HPA's condition contains this text.
fn wait_for_condition(stage: &Stage, worker: &Worker, words: &str) {
    wait::for_ok(SOON, words, || {
        let said = worker.message(&stage.cluster);
        if said.contains(words) { Ok(()) } else { Err(said) }
    });
}

#[test]
fn an_hpa_shows_which_rule_denies_its_metric_and_scales_once_the_policy_is_deleted() {
    let stage = Stage::with_apis(Version::Tested, Controllers::All, RATES, OBJECTS);
    define(&stage);
    shop::create(&stage.cluster);
    let of_service = |service: &str| external(RATE, &json!({"service": service}), &value(2));
    let (web, api) = (
        Worker::new("by-web", of_service("web")),
        Worker::new("by-api", of_service("api")),
    );
    let only_api = json!({"rules": [{"metric": "burst_requests_.*", "selector": {"matchLabels": {"service": "api"}}}]});
    apply(&stage, "only-api", shop::NAMESPACE, &only_api);
    [&web, &api].iter().for_each(|worker| worker.create(&stage.cluster));
    wait_until_active(&stage.cluster, std::slice::from_ref(&api));
    let refusal = format!(
        "{RATE}.external.metrics.k8s.io is forbidden: ExternalMetricPolicy \"shop/only-api\" rule 1 requires a selector \
         that is at least as narrow as \"service=api\""
    );
    wait_for_condition(&stage, &web, &refusal);
    assert_eq!(web.activity(&stage.cluster), "False FailedGetExternalMetric");

    // No schema can detect that a selector contradicts itself.
    let contradiction = json!([{"key": "service", "operator": "In", "values": ["web"]}, {"key": "service", "operator": "DoesNotExist"}]);
    let spoiled = json!({"rules": [{"metric": ".*", "selector": {"matchExpressions": contradiction}}]});
    apply(&stage, "only-api", shop::NAMESPACE, &spoiled);
    let complaint = "shop/only-api: spec.rules[0].selector: contradicts itself about \"service\"";
    wait::for_ok(SOON, complaint, || {
        let log = stage.proxy.envoy.log();
        if log.contains(complaint) { Ok(()) } else { Err(log) }
    });
    let path = format!("/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/{RATE}?labelSelector=service%3Dweb");
    wait::for_ok(SOON, "the last good policy", || match stage.raw(&path) {
        Err(said) if said.contains("only-api") => Ok(()),
        Err(said) => Err(said),
        Ok(value) => panic!("the policy should deny this: {value}"),
    });
    wait_until_active(&stage.cluster, std::slice::from_ref(&api));

    stage.cluster.kubectl(&[
        "delete",
        "externalmetricpolicy",
        "only-api",
        "--namespace",
        shop::NAMESPACE,
    ]);
    let both = [web, api];
    wait_until_active(&stage.cluster, &both);
    let traffic = stage.proxy.traffic(&["/", "/api"]);
    wait_for_replicas(&stage.cluster, &both, 10);
    traffic.stop();
}

#[test]
fn a_root_namespace_policy_applies_to_its_subjects_in_every_namespace() {
    let stage = Stage::with_apis(Version::Tested, Controllers::None, RATES, OBJECTS);
    define(&stage);
    shop::create(&stage.cluster);
    shop::observe(&stage.cluster);
    let path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/burst_max_load";
    wait::for_ok(SOON, "a metric", || stage.raw(path).map(drop));
    let bob = ["get", "--raw", path, "--as=bob", "--as-group=metrics-readers"];
    stage.cluster.kubectl(&[
        "create",
        "clusterrole",
        "metrics-readers",
        "--verb=list",
        "--resource=burst_max_load.external.metrics.k8s.io",
    ]);
    let binding = [
        "create",
        "clusterrolebinding",
        "metrics-readers",
        "--clusterrole=metrics-readers",
        "--group=metrics-readers",
    ];
    stage.cluster.kubectl(&binding);
    wait::for_ok(SOON, "the role", || stage.cluster.try_kubectl(&bob, "").map(drop));

    let subjects = json!([{"kind": "Group", "name": "metrics-readers"}]);
    let spec = json!({"subjects": subjects, "rules": [{"metric": "burst_max_load", "deny": true}]});
    apply(&stage, "readers", "istio-system", &spec);
    wait::for_ok(SOON, "a refusal", || match stage.cluster.try_kubectl(&bob, "") {
        Err(said) if said.contains("\"istio-system/readers\" rule 1 denies it") => Ok(()),
        other => Err(format!("{other:?}")),
    });
    wait::for_ok(SOON, "an administrator, who is in another group", || stage.raw(path));
}
