//! The default set on an ingress gateway.

use burst_testkit::{Version, wasm};

use crate::{
    mesh::Mesh,
    routes, shipped,
    shop::{API, WEB},
    traffic::Traffic,
};

/// A host that the world knows.
pub(crate) const PUBLIC: &str = "shop.example.com";
/// A name of the gateway in the cluster.
pub(crate) const INTERNAL: &str = "istio-ingressgateway.istio-system";

#[test]
fn the_default_set_does_what_its_readme_says() {
    let mesh = Mesh::start();
    let ingress = mesh.ingress(Version::Tested);
    mesh.cluster.apply(routes::VIRTUAL_SERVICE);
    ingress.wait_for(PUBLIC, "/", "the mesh serves", |answer| answer.status == 200);
    let pod = mesh.ingress_pod();

    let traffic = Traffic::begin(&ingress.url, PUBLIC);
    let _ = shipped::apply(&mesh.cluster, "gateway", &wasm("burst-metrics.wasm"), &pod);
    assert_eq!(ingress.wait_for_header(PUBLIC, "/", Some(WEB)).body, "web-v1");
    assert_eq!(
        ingress.wait_for_header(PUBLIC, "/v2", Some(WEB)).body,
        "web-v2",
        "a subset"
    );
    assert_eq!(ingress.wait_for_header(PUBLIC, "/api", Some(API)).body, "api-v1");

    // /burstmetrics for who knows the gateway, and for nobody else.
    let bulk = ingress.get(INTERNAL, "/burstmetrics/services").unwrap();
    assert_eq!(bulk.status, 200, "{bulk:?}");
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&bulk.body).unwrap()["shop/web"],
        WEB
    );
    let single = ingress.get(INTERNAL, "/burstmetrics/services/shop/api").unwrap();
    assert_eq!((single.status, single.body.as_str()), (200, API));
    assert_eq!(
        ingress.get(PUBLIC, "/burstmetrics/services").unwrap().body,
        "web-v1",
        "the upstream's own"
    );

    // Policies are asked before the filter answers.
    mesh.cluster.apply(DENY);
    ingress.wait_for(INTERNAL, "/burstmetrics/services", "denied", |answer| {
        answer.status == 403
    });
    assert_eq!(ingress.get(PUBLIC, "/").unwrap().status, 200);
    mesh.cluster.kubectl(&[
        "delete",
        "authorizationpolicy",
        "burst-metrics",
        "--namespace=istio-system",
    ]);
    ingress.wait_for(INTERNAL, "/burstmetrics/services", "allowed", |answer| {
        answer.status == 200
    });

    // Updated, removed and put back.
    let patch = r#"{"spec":{"pluginConfig":{"target_percent":40}}}"#;
    let plugin = ["wasmplugin", "burst-metrics", "--namespace=istio-system"];
    mesh.cluster
        .kubectl(&[&["patch"], &plugin[..], &["--type=merge", "--patch", patch]].concat());
    let halved = WEB.replace("target-load=4", "target-load=2");
    ingress.wait_for_header(PUBLIC, "/", Some(&halved));
    mesh.cluster.kubectl(&[&["delete"], &plugin[..]].concat());
    ingress.wait_for_header(PUBLIC, "/", None);
    let _ = shipped::apply(&mesh.cluster, "gateway", &wasm("burst-metrics.wasm"), &pod);
    ingress.wait_for_header(PUBLIC, "/", Some(WEB));
    traffic.end_without_failure();
}

const DENY: &str = "
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: burst-metrics, namespace: istio-system}
spec:
  selector: {matchLabels: {istio: ingressgateway}}
  action: DENY
  rules: [{to: [{operation: {paths: [/burstmetrics, /burstmetrics/*]}}]}]
";
