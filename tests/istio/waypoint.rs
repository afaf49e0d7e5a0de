//! The waypoint set: requests come through Istio's tunnel, and the responses carry the header of the Service that the
//! waypoint chose.

use std::net::Ipv4Addr;

use burst_testkit::{Envoy, Node, Version, port, wait, wasm};
use serde_json::{Value, json};

use crate::{
    hbone::Neighbours,
    mesh::{Ingress, Mesh, SOON},
    shipped::{self, Pod},
    shop::{API, WEB},
};

const HOST: &str = "web.shop.svc.cluster.local";

#[test]
fn a_waypoint_sends_the_headers_of_the_services_behind_it() {
    let mesh = Mesh::start_with(&[("PILOT_ENABLE_AMBIENT", "true")]);
    let (waypoint, neighbours) = waypoint(&mesh);
    waypoint.wait_for(HOST, "/v2", "the mesh serves", |answer| answer.body == "web-v2");
    // istiod may send one Service before the endpoints of the other exist.
    for name in [
        "inbound-vip|80|http|web.shop.svc.cluster.local",
        "inbound-vip|80|http/v2|web.shop.svc.cluster.local",
        "inbound-vip|80|http|api.shop.svc.cluster.local",
    ] {
        wait::until(SOON, name, || {
            waypoint.envoy.admin("/clusters").body.contains(&format!("{name}::"))
        });
    }

    let pod = Pod::new(&mesh.cluster, "waypoint", "shop");
    let applied = shipped::apply(&mesh.cluster, "waypoint", &wasm("burst-metrics.wasm"), &pod);
    for (path, value, program) in [("/", WEB, "web-v"), ("/v2", WEB, "web-v2"), ("/api", API, "api-v1")] {
        let answer = waypoint.wait_for_header(HOST, path, Some(value));
        assert!(answer.body.starts_with(program), "{path}: {}", answer.body);
    }
    // The upstream still answers a Service's own paths.
    let own = waypoint.get(HOST, "/burstmetrics/services").unwrap();
    assert!(own.body.starts_with("web-v"), "{}", own.body);

    applied.delete(&mesh.cluster);
    waypoint.wait_for_header(HOST, "/", None);
    drop(neighbours);
}

/// A waypoint for the whole shop, and the tunnel that sends it requests for `web`.
fn waypoint(mesh: &Mesh) -> (Ingress, Neighbours) {
    let cluster = &mesh.cluster;
    let port = port::free();
    cluster.apply(GATEWAY);
    cluster.apply(&without_an_agent(port).to_string());
    cluster.kubectl(&["label", "namespace", "shop", "istio.io/use-waypoint=waypoint"]);
    let address = [
        "get",
        "service",
        "web",
        "--namespace=shop",
        "--output=jsonpath={.spec.clusterIP}:80",
    ];
    let neighbours = Neighbours::start("shop", "waypoint", port, &cluster.kubectl(&address));
    let node = Node::waypoint("waypoint", "shop")
        .at(POD)
        .with_agent(neighbours.agent());
    // For a newer proxy version, istiod sends a type of filter state that only Istio's own build has.
    let node = node.with("ISTIO_VERSION", &json!("1.29.1"));
    let envoy = Envoy::of(Version::Tested)
        .workers(2)
        .start(&mesh.istiod.bootstrap(&node));
    let url = neighbours.url();
    (Ingress { envoy, url }, neighbours)
}

/// The pod's address in istiod. The programs have other addresses.
const POD: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 8);

/// The objects that Istio would create for the `Gateway`, and routes for the Services behind the waypoint.
const GATEWAY: &str = "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: waypoint, namespace: shop}
spec:
  gatewayClassName: istio-waypoint
  addresses: [{type: Hostname, value: waypoint.shop.svc.cluster.local}]
  listeners: [{name: mesh, port: 15008, protocol: HBONE}]
---
apiVersion: v1
kind: Service
metadata: {name: waypoint, namespace: shop, labels: {gateway.istio.io/managed: istio.io-mesh-controller}}
spec:
  selector: {gateway.networking.k8s.io/gateway-name: waypoint}
  ports: [{name: mesh, port: 15008, targetPort: 15008}]
---
apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata: {name: waypoint, namespace: shop}
spec: {address: 127.0.0.8, labels: {gateway.networking.k8s.io/gateway-name: waypoint}}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: web, namespace: shop}
spec:
  host: web.shop.svc.cluster.local
  subsets: [{name: v2, labels: {version: v2}}]
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: web, namespace: shop}
spec:
  hosts: [web.shop.svc.cluster.local]
  http:
  - match: [{uri: {prefix: /v2}}]
    route: [{destination: {host: web.shop.svc.cluster.local, subset: v2}}]
  - match: [{uri: {prefix: /api}}]
    route: [{destination: {host: api.shop.svc.cluster.local}}]
  - route: [{destination: {host: web.shop.svc.cluster.local}}]
";

/// Adapts a waypoint's configuration to an Envoy that is not Istio's build, and to a test that listens only on the
/// loopback interface.
fn without_an_agent(port: u16) -> Value {
    let patch = |to: &str, listener: Value, patch: Value| {
        let at = json!({"context": "SIDECAR_INBOUND", "listener": listener});
        json!({"applyTo": to, "match": at, "patch": patch})
    };
    let remove = |listener: &str, filter: &str| {
        let manager = "envoy.filters.network.http_connection_manager";
        let chain = json!({"filter": {"name": manager, "subFilter": {"name": filter}}});
        let listener = json!({"name": listener, "filterChain": chain});
        patch("HTTP_FILTER", listener, json!({"operation": "REMOVE"}))
    };
    let loopback = json!({"address": {"socket_address": {"address": "127.0.0.1", "port_value": port}}});
    json!({
        "apiVersion": "networking.istio.io/v1alpha3",
        "kind": "EnvoyFilter",
        "metadata": {"name": "no-build-of-istio", "namespace": "shop"},
        "spec": {
            "targetRefs": [{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "waypoint"}],
            "configPatches": [
                remove("connect_terminate", "waypoint_downstream_peer_metadata"),
                remove("main_internal", "waypoint_upstream_peer_metadata"),
                patch(
                    "LISTENER",
                    json!({"name": "connect_terminate"}),
                    json!({"operation": "MERGE", "value": loopback}),
                ),
            ],
        },
    })
}
