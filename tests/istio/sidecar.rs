//! The sidecar sets: inbound requests get the header of the pod's own Service.

use burst_testkit::{Envoy, Node, Version, port, repository, wait, wasm};
use serde_json::{Value, json};

use crate::{
    mesh::{Ingress, Mesh, SOON},
    shipped::{self, Pod},
    shop::{API, WEB},
    streaming::wait_for_streams,
};

pub(crate) const HOST: &str = "web.shop.svc.cluster.local";

/// Makes the shop's sidecars spokes of the gateway.
const SPOKE: &str = "istio/spoke.yaml";

#[test]
fn a_sidecar_sends_the_header_of_its_pods_service() {
    let mesh = Mesh::start();
    // This istiod issues no certificates to the proxies.
    mesh.cluster.apply(PLAIN_TEXT);
    let pod = Pod::new(&mesh.cluster, "default", "shop");
    let of_service = sidecar(&mesh, "127.0.0.2", "web", "web-v1", &json!({}));
    mesh.cluster.apply(&service(of_service.address().port()).to_string());
    let deployment = "kubernetes://apis/apps/v1/namespaces/shop/deployments/api";
    let of_owner = sidecar(
        &mesh,
        "127.0.0.3",
        "api-of-no-service",
        "api-v1",
        &json!({"OWNER": deployment}),
    );
    for form in ["sidecar", "sidecar-envoyfilter"] {
        let applied = shipped::apply(&mesh.cluster, form, &wasm("burst-metrics.wasm"), &pod);
        of_service.wait_for_header(HOST, "/", Some(WEB));
        of_owner.wait_for_header(HOST, "/", Some(API));
        if form == "sidecar-envoyfilter" {
            wait_for_streams(&mesh, &of_service, HOST, WEB);
        }
        // The upstream still answers the pod's own paths.
        assert_eq!(
            of_service.get(HOST, "/burstmetrics/services").unwrap().body,
            "web-v1",
            "{form}"
        );
        applied.delete(&mesh.cluster);
        of_service.wait_for_header(HOST, "/", None);
        of_owner.wait_for_header(HOST, "/", None);
    }
}

#[test]
fn a_sidecar_reads_the_gateway_and_needs_no_role() {
    let mesh = Mesh::start();
    mesh.cluster.apply(PLAIN_TEXT);
    let ingress = mesh.ingress(Version::Tested);
    mesh.cluster.apply(&hub(ingress.address().port()));
    let (module, gateway) = (wasm("burst-metrics.wasm"), mesh.ingress_pod());
    let _ = shipped::apply(&mesh.cluster, "gateway", &module, &gateway);
    let sidecar = sidecar(&mesh, "127.0.0.2", "web", "web-v1", &json!({}));
    mesh.cluster.apply(&service(sidecar.address().port()).to_string());
    sidecar.wait_for_header(HOST, "/", None);

    let file = repository().join(SPOKE);
    let file = file.to_str().expect("a path that is text");
    let spoke = mesh
        .cluster
        .kubectl(&["create", "--dry-run=client", "--output=json", "--filename", file]);
    let spoke = serde_json::from_str(&spoke).expect("JSON");
    let pod = Pod::new(&mesh.cluster, "default", "shop");
    let _ = shipped::apply_objects(&mesh.cluster, vec![spoke], &module, &pod);
    sidecar.wait_for_header(HOST, "/", Some(WEB));
    let unchanged = || ingress.envoy.stat("wasmcustom.burst_reply_304_total");
    wait::until(SOON, "an answer that nothing changed", || unchanged() > Some(0));
}

/// The gateway's Service, with the gateway as its endpoint.
fn hub(port: u16) -> String {
    format!(
        "
apiVersion: v1
kind: Service
metadata: {{name: istio-ingressgateway, namespace: istio-system}}
spec: {{selector: {{istio: ingressgateway}}, ports: [{{name: http2, port: 80, targetPort: 8080}}]}}
---
apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata: {{name: ingressgateway, namespace: istio-system}}
spec: {{address: 127.0.0.1, labels: {{istio: ingressgateway}}, ports: {{http2: {port}}}}}
"
    )
}

/// The sidecar of a pod with that label, in front of one of the shop's programs.
fn sidecar(mesh: &Mesh, address: &str, app: &str, program: &str, metadata: &Value) -> Ingress {
    let (port, behind) = (port::free(), mesh.programs.listener(program).port());
    let labels = json!({"app": app});
    mesh.cluster.apply(&listener(app, address, port, behind).to_string());
    let node = Node::sidecar(app, "shop", &labels).at(address.parse().expect("an address"));
    let node = metadata
        .as_object()
        .into_iter()
        .flatten()
        .fold(node, |node, (key, value)| node.with(key, value));
    let envoy = Envoy::of(Version::Tested)
        .workers(1)
        .start(&mesh.istiod.bootstrap(&node));
    let sidecar = Ingress {
        envoy,
        url: format!("http://{address}:{port}"),
    };
    sidecar.wait_for(HOST, "/", "the sidecar serves", |answer| answer.status == 200);
    sidecar
}

/// Nothing redirects the test's traffic, so the sidecar has an address and a port of its own.
fn listener(app: &str, address: &str, port: u16, behind: u16) -> Value {
    json!({
        "apiVersion": "networking.istio.io/v1",
        "kind": "Sidecar",
        "metadata": {"name": app, "namespace": "shop"},
        "spec": {
            "workloadSelector": {"labels": {"app": app}},
            // The sidecar may reach only the gateway. With a port, this would exclude Services on other ports.
            "egress": [{
                "port": {"number": 80, "protocol": "HTTP", "name": "out"},
                "bind": address,
                "captureMode": "NONE",
                "hosts": ["istio-system/*"],
            }],
            "ingress": [{
                "port": {"number": port, "protocol": "HTTP", "name": "http"},
                "bind": address,
                "captureMode": "NONE",
                "defaultEndpoint": format!("127.0.0.1:{behind}"),
            }],
        },
    })
}

/// A Service of the `web` pods, whose target port is the sidecar's.
pub(crate) fn service(port: u16) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web-pods", "namespace": "shop"},
        "spec": {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 8000, "targetPort": port}]},
    })
}

/// Disables mutual TLS in the shop.
pub(crate) const PLAIN_TEXT: &str = "
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: shop}
spec: {mtls: {mode: DISABLE}}
";
