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
    // Istio may tell of the one before the endpoints of the other are there.
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
    // The paths of a Service stay its own.
    let own = waypoint.get(HOST, "/burstmetrics/services").unwrap();
    assert!(own.body.starts_with("web-v"), "{}", own.body);

    applied.delete(&mesh.cluster);
    waypoint.wait_for_header(HOST, "/", None);
    drop(neighbours);
}

/// A waypoint of the whole shop, and the way to it of requests for `web`.
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
    // A newer proxy is told a type of filter state that only Istio's own build has.
    let node = node.with("ISTIO_VERSION", &json!("1.29.1"));
    let envoy = Envoy::of(Version::Tested)
        .workers(2)
        .start(&mesh.istiod.bootstrap(&node));
    let url = neighbours.url();
    (Ingress { envoy, url }, neighbours)
}

/// The address by which istiod knows the pod. The programs have another.
const POD: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 8);

/// What Istio would create for the `Gateway`, and routes for what the waypoint stands for.
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

/// What makes a waypoint's configuration one for an Envoy that is not Istio's build, and for a test that listens on the
/// loopback only.
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
