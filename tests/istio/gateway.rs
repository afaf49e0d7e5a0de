//! The default set on an ingress gateway under traffic.

use burst_testkit::{Version, wasm};
use serde_json::Value;

use crate::{
    mesh::{Ingress, Mesh, SOME, SOON},
    routes, shipped,
    shop::{API, WEB},
};

/// A public host.
pub(crate) const PUBLIC: &str = "shop.example.com";
/// A name of the gateway inside the cluster.
pub(crate) const INTERNAL: &str = "istio-ingressgateway.istio-system";

/// Part of the gateway sets. It lets the test in.
const POLICY: &str = include_str!("../../istio/lock/policy.yaml");

#[test]
fn the_default_set_does_what_its_readme_says() {
    let mesh = Mesh::start();
    let ingress = mesh.ingress(Version::Tested);
    mesh.cluster.apply(routes::VIRTUAL_SERVICE);
    ingress.wait_for(PUBLIC, "/", "the mesh serves", |answer| answer.status == 200);
    let pod = mesh.ingress_pod();
    let module = wasm("burst-metrics.wasm");

    let traffic = ingress.traffic(PUBLIC).start();
    let _ = shipped::apply(&mesh.cluster, "gateway", &module, &pod);
    every_route_has_the_header_of_its_service(&ingress);
    endpoints_answer_for_the_names_in_the_cluster(&ingress);
    policies_apply_before_the_filter_answers(&mesh, &ingress);
    a_bad_configuration_leaves_the_previous_one_active(&mesh, &ingress);

    change(&mesh, "patch", r#"{"spec":{"pluginConfig":{"target_percent":40}}}"#);
    let halved = WEB.replace("target-load=4", "target-load=2");
    ingress.wait_for_header(PUBLIC, "/", Some(&halved));
    change(&mesh, "delete", "");
    ingress.wait_for_header(PUBLIC, "/", None);
    let _ = shipped::apply(&mesh.cluster, "gateway", &module, &pod);
    ingress.wait_for_header(PUBLIC, "/", Some(WEB));
    traffic.wait_for_more(SOME);
    traffic.stop();
}

fn every_route_has_the_header_of_its_service(ingress: &Ingress) {
    for (path, value, program) in [("/", WEB, "web-v1"), ("/v2", WEB, "web-v2"), ("/api", API, "api-v1")] {
        let answer = ingress.wait_for_header(PUBLIC, path, Some(value));
        assert_eq!(answer.body, program, "{path}");
    }
}

fn endpoints_answer_for_the_names_in_the_cluster(ingress: &Ingress) {
    let bulk = ingress.get(INTERNAL, "/burstmetrics/services").unwrap();
    let services: Value = serde_json::from_str(&bulk.body).unwrap();
    assert_eq!((bulk.status, services["shop/web"].as_str()), (200, Some(WEB)));
    let single = ingress.get(INTERNAL, "/burstmetrics/services/shop/api").unwrap();
    assert_eq!((single.status, single.body.as_str()), (200, API));
    let public = ingress.get(PUBLIC, "/burstmetrics/services").unwrap();
    assert_eq!(public.body, "web-v1", "the path is the upstream's own");
}

/// Checks that the set's policy exists and refuses clients outside its networks. Restores the shipped policy.
pub(crate) fn policies_apply_before_the_filter_answers(mesh: &Mesh, ingress: &Ingress) {
    let wait_for = |status| {
        ingress.wait_for_every(INTERNAL, "/burstmetrics/services", "the policy", |answer| {
            answer.status == status
        });
    };
    let networks = "jsonpath={.spec.rules[0].from[0].source.notRemoteIpBlocks}";
    let policy = [
        "get",
        "authorizationpolicy",
        "burst-metrics",
        "--namespace=istio-system",
        "--output",
        networks,
    ];
    let networks = mesh.cluster.kubectl(&policy);
    assert!(
        networks.contains("10.0.0.0/8") && !networks.contains("0.0.0.0/0"),
        "{networks}"
    );
    let without_loopback = POLICY.replace("              - 127.0.0.0/8\n", "");
    assert_ne!(without_loopback, POLICY);
    mesh.cluster.apply(&without_loopback);
    wait_for(403);
    assert_eq!(ingress.get(PUBLIC, "/").unwrap().status, 200);
    mesh.cluster.apply(POLICY);
    wait_for(200);
}

fn a_bad_configuration_leaves_the_previous_one_active(mesh: &Mesh, ingress: &Ingress) {
    change(mesh, "patch", r#"{"spec":{"pluginConfig":{"target_percent":400}}}"#);
    let refusal = "the configuration is refused: target_percent: 400 is not between 1 and 100";
    ingress.envoy.wait_for_log(SOON, refusal);
    assert_eq!(ingress.get(PUBLIC, "/").unwrap().header("x-burst"), Some(WEB));
}

/// Runs `kubectl VERB` on the plugin, with that patch.
pub(crate) fn change(mesh: &Mesh, verb: &str, patch: &str) {
    let plugin = [verb, "wasmplugin", "burst-metrics", "--namespace=istio-system"];
    let patch = ["--type=merge", "--patch", patch];
    let patch = if verb == "patch" { &patch[..] } else { &[] };
    mesh.cluster.kubectl(&[&plugin[..], patch].concat());
}
