//! The sidecar sets: the header of the pod's own service on what comes in.

use burst_testkit::{Envoy, Node, Version, port, wasm};
use serde_json::{Value, json};

use crate::{
    mesh::{Ingress, Mesh},
    shipped::{self, Pod},
    shop::{API, WEB},
};

pub(crate) const HOST: &str = "web.shop.svc.cluster.local";

#[test]
fn a_sidecar_speaks_for_its_pod() {
    let mesh = Mesh::start();
    // There is nobody to sign certificates for the proxies.
    mesh.cluster.apply(PLAIN_TEXT);
    let pod = Pod::new(&mesh.cluster, "default", "shop");
    let of_service = sidecar(&mesh, "127.0.0.2", "web", "web-v1", &json!({}));
    mesh.cluster.apply(&service(of_service.port()).to_string());
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
        // The pod's own paths stay its own.
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

/// The sidecar of a pod with that label, before one of the shop's programs.
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

/// Nothing takes a test's traffic off its way, so the sidecar has an address and a port of its own.
fn listener(app: &str, address: &str, port: u16, behind: u16) -> Value {
    json!({
        "apiVersion": "networking.istio.io/v1",
        "kind": "Sidecar",
        "metadata": {"name": app, "namespace": "shop"},
        "spec": {
            "workloadSelector": {"labels": {"app": app}},
            "egress": [{"hosts": ["~/*"]}],
            "ingress": [{
                "port": {"number": port, "protocol": "HTTP", "name": "http"},
                "bind": address,
                "captureMode": "NONE",
                "defaultEndpoint": format!("127.0.0.1:{behind}"),
            }],
        },
    })
}

/// A Service of the pods of `web`, whose target port is the sidecar's.
pub(crate) fn service(port: u16) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web-pods", "namespace": "shop"},
        "spec": {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 8000, "targetPort": port}]},
    })
}

/// No mutual TLS in the shop.
pub(crate) const PLAIN_TEXT: &str = "
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: shop}
spec: {mtls: {mode: DISABLE}}
";
