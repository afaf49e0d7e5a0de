//! The routes of the shop.

use std::fs;

use burst_testkit::{Version, repository, wait, wasm};

use crate::{
    mesh::{Mesh, SOON},
    shipped,
    shop::{API, WEB},
};

/// Routes with a VirtualService with subsets.
pub(crate) const VIRTUAL_SERVICE: &str = "
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: web, namespace: shop}
spec:
  host: web.shop.svc.cluster.local
  subsets: [{name: v1, labels: {version: v1}}, {name: v2, labels: {version: v2}}]
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: api, namespace: shop}
spec:
  host: api.shop.svc.cluster.local
  subsets: [{name: v1, labels: {version: v1}}, {name: slow, labels: {version: slow}}]
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: shop, namespace: shop}
spec:
  hosts: [shop.example.com]
  gateways: [istio-system/public]
  http:
  - match: [{uri: {prefix: /api}}]
    route: [{destination: {host: api.shop.svc.cluster.local, subset: v1, port: {number: 80}}}]
  - match: [{uri: {prefix: /slow}}]
    route: [{destination: {host: api.shop.svc.cluster.local, subset: slow, port: {number: 80}}}]
  - match: [{uri: {prefix: /v2}}]
    route: [{destination: {host: web.shop.svc.cluster.local, subset: v2, port: {number: 80}}}]
    # Done before the filter, so it takes nothing away.
    headers: {response: {remove: [x-burst]}}
  - route: [{destination: {host: web.shop.svc.cluster.local, subset: v1, port: {number: 80}}}]
";

/// A Gateway API gateway. It replaces the ingress gateway at the proxy that serves the Service of that name.
pub(crate) fn gateway_api(label: &str, namespace: &str, port: u16) -> String {
    format!(
        "
apiVersion: v1
kind: Service
metadata: {{name: istio-{label}, namespace: {namespace}}}
spec: {{selector: {{istio: {label}}}, ports: [{{name: http, port: {port}, targetPort: {port}}}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {{name: weighted, namespace: {namespace}}}
spec:
  gatewayClassName: istio
  addresses: [{{type: Hostname, value: istio-{label}.{namespace}.svc.cluster.local}}]
  listeners: [{{name: http, port: {port}, protocol: HTTP, allowedRoutes: {{namespaces: {{from: All}}}}}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: weighted, namespace: shop}}
spec:
  parentRefs: [{{name: weighted, namespace: {namespace}}}]
  hostnames: [weighted.example.com]
  rules: [{{backendRefs: [{{name: web, port: 80, weight: 50}}, {{name: api, port: 80, weight: 50}}]}}]
---
# The Gateway API knows no address to bind to; a test listens on the loopback only.
apiVersion: networking.istio.io/v1alpha3
kind: EnvoyFilter
metadata: {{name: loopback, namespace: {namespace}}}
spec:
  workloadSelector: {{labels: {{istio: {label}}}}}
  configPatches:
  - applyTo: LISTENER
    match: {{context: GATEWAY, listener: {{portNumber: {port}}}}}
    patch:
      operation: MERGE
      value: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}}}
"
    )
}

#[test]
fn a_weighted_route_carries_the_header_of_the_service_it_chose() {
    let mesh = Mesh::start();
    let ingress = mesh.gateway(Version::Tested, "ingressgateway", "istio-system", gateway_api);
    let host = "weighted.example.com";
    ingress.wait_for(host, "/", "the mesh serves", |answer| answer.status == 200);
    let pod = mesh.ingress_pod();
    let _ = shipped::apply(&mesh.cluster, "gateway", &wasm("burst-metrics.wasm"), &pod);
    for (program, value) in [("api-v1", API), ("web-v", WEB)] {
        ingress.wait_for(host, "/", value, |answer| {
            answer.body.starts_with(program) && answer.header("x-burst") == Some(value)
        });
    }

    // What the guide for clients recommends reaches the cluster of the Service.
    let guide = fs::read_to_string(repository().join("docs/using-the-header.md")).expect("the guide");
    let mut blocks = guide.split("```yaml\n").filter_map(|rest| rest.split_once("```"));
    let objects = blocks.find(|(block, _)| block.starts_with("apiVersion: networking.istio.io"));
    mesh.cluster.apply(objects.expect("the objects for Istio").0);
    wait::until(SOON, "outlier detection by errors of the connection", || {
        let clusters = ingress
            .envoy
            .admin("/config_dump?resource=dynamic_active_clusters")
            .body;
        clusters.contains(r#""split_external_local_origin_errors": true"#)
    });
}
