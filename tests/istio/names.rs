//! Hosts that are not Services of this cluster, in the clusters that a real istiod makes of them.

use burst_testkit::{Envoy, Version, wait, wasm};

use crate::{
    gateway::PUBLIC,
    mesh::{Mesh, SOON},
    shipped,
    shop::WEB,
};

#[test]
fn a_host_maps_to_the_service_that_istio_names_and_other_hosts_are_counted_by_reason() {
    let mesh = Mesh::start_with(&[("ENABLE_MCS_SERVICE_DISCOVERY", "true"), ("ENABLE_MCS_HOST", "true")]);
    let ingress = mesh.ingress(Version::Tested);
    mesh.cluster.apply(HOSTS);
    mesh.cluster.apply(ROUTES);
    let pod = mesh.ingress_pod();
    let _ = shipped::apply(&mesh.cluster, "gateway", &wasm("burst-metrics.wasm"), &pod);

    ingress.wait_for_header(PUBLIC, "/", Some(WEB));
    for (path, cluster, expected) in [
        ("/clusterset", "outbound|80||web.shop.svc.clusterset.local", Ok(WEB)),
        ("/alias", "outbound|80||alias.shop.svc.cluster.local", Err("no_entry")),
        ("/outside", "outbound|80||api.example.org", Err("external")),
        (
            "/other-domain",
            "outbound|80||web.shop.svc.example.org",
            Err("other_domain"),
        ),
    ] {
        wait::until(SOON, cluster, || {
            ingress.envoy.admin("/clusters").body.contains(cluster)
        });
        let before = expected.err().map(|reason| absent(&ingress.envoy, reason));
        let answer = ingress.wait_for(PUBLIC, path, "the route", |answer| answer.status == 200);
        assert_eq!(answer.header("x-burst"), expected.ok(), "{path}");
        if let Err(reason) = expected {
            wait::until(SOON, reason, || Some(absent(&ingress.envoy, reason)) > before);
        }
    }
}

/// The number of responses without a header for that reason.
fn absent(envoy: &Envoy, reason: &str) -> u64 {
    envoy
        .stat(&format!("wasmcustom.burst_header_absent_{reason}_total"))
        .unwrap_or_default()
}

const HOSTS: &str = "
apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ServiceExport
metadata: {name: web, namespace: shop}
---
apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ServiceImport
metadata: {name: web, namespace: shop}
spec: {type: ClusterSetIP, ips: [10.255.0.10], ports: [{name: http, port: 80, protocol: TCP}]}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: hosts, namespace: shop}
spec:
  hosts: [api.example.org, web.shop.svc.example.org, alias.shop.svc.cluster.local]
  location: MESH_EXTERNAL
  resolution: STATIC
  ports: [{name: http, number: 80, protocol: HTTP}]
  workloadSelector: {labels: {app: web}}
";

const ROUTES: &str = "
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: shop, namespace: shop}
spec:
  hosts: [shop.example.com]
  gateways: [istio-system/public]
  http:
  - match: [{uri: {prefix: /clusterset}}]
    route: [{destination: {host: web.shop.svc.clusterset.local}}]
  - match: [{uri: {prefix: /alias}}]
    route: [{destination: {host: alias.shop.svc.cluster.local}}]
  - match: [{uri: {prefix: /outside}}]
    route: [{destination: {host: api.example.org}}]
  - match: [{uri: {prefix: /other-domain}}]
    route: [{destination: {host: web.shop.svc.example.org}}]
  - route: [{destination: {host: web.shop.svc.cluster.local}}]
";
