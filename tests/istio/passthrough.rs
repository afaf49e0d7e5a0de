//! A gateway between networks (AUTO_PASSTHROUGH). It forwards encrypted traffic to clusters that have special names.

use std::net::SocketAddr;

use burst_testkit::{Envoy, Version, port, wasm};
use serde_json::{Value, json};

use crate::{
    certificates::Authority,
    gateway::PUBLIC,
    mesh::{Ingress, Mesh, open_gateway},
    routes, shipped, shop,
    shop::WEB,
};

#[test]
fn passed_through_traffic_is_unchanged_and_a_route_to_such_a_cluster_has_the_header() {
    let mesh = Mesh::start();
    let between = port::free();
    let ingress = mesh.gateway(
        Version::Tested,
        "ingressgateway",
        "istio-system",
        |label, namespace, port| [open_gateway(label, namespace, port), passthrough(between)].join("---"),
    );
    let authority = Authority::new();
    let program = program(&authority);
    encrypted(&mesh, "web-v1", mesh.programs.listener("web-v1"));
    encrypted(&mesh, "web-v2", program.listener("web-v2"));
    mesh.cluster.apply(routes::VIRTUAL_SERVICE);
    let pod = mesh.ingress_pod();
    let _ = shipped::apply(&mesh.cluster, "gateway", &wasm("burst-metrics.wasm"), &pod);
    ingress.wait_for_header(PUBLIC, "/", Some(WEB));

    let elsewhere = sidecar_elsewhere(&authority, between, "outbound_.80_.v2_.web.shop.svc.cluster.local");
    elsewhere.wait_for_header(PUBLIC, "/", None);
    assert_eq!(elsewhere.get(PUBLIC, "/").unwrap().body, "web-v2");

    // Istio itself creates no HTTP route to such a cluster.
    let cluster = "outbound_.80_.v1_.web.shop.svc.cluster.local";
    mesh.cluster.apply(&rerouted(cluster).to_string());
    ingress.wait_for(PUBLIC, "/", "the other cluster serves", |_| {
        let stat = format!("cluster.{cluster};.upstream_rq_200");
        ingress.envoy.stat(&stat).is_some_and(|count| count > 0)
    });
    ingress.wait_for_header(PUBLIC, "/", Some(WEB));
}

/// A program that speaks mutual TLS, like one behind a sidecar.
fn program(authority: &Authority) -> Envoy {
    let mut listener = shop::listener("web-v2");
    let tls = authority.tls(&authority.certify("shop", "web"), "istio");
    listener["filter_chains"][0]["transport_socket"] = json!({"name": "envoy.transport_sockets.tls", "typed_config": {
        "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
        "common_tls_context": tls,
        "require_client_certificate": true,
    }});
    let bootstrap = json!({"static_resources": {"listeners": [listener]}});
    Envoy::of(Version::Tested).workers(1).start(&bootstrap.to_string())
}

/// Registers the program as an endpoint with mutual TLS. The gateway forwards traffic only to such endpoints.
fn encrypted(mesh: &Mesh, program: &str, address: SocketAddr) {
    shop::join(&mesh.cluster, program, address.port());
    let label = r#"{"spec": {"labels": {"security.istio.io/tlsMode": "istio"}}}"#;
    let patch = ["patch", "workloadentry", program, "--namespace=shop", "--type=merge"];
    mesh.cluster.kubectl(&[&patch[..], &["--patch", label]].concat());
}

/// A proxy in another network. It sends the cluster's name as the TLS server name.
fn sidecar_elsewhere(authority: &Authority, gateway: u16, name: &str) -> Ingress {
    let mut listener = shop::listener("elsewhere");
    let manager = &mut listener["filter_chains"][0]["filters"][0]["typed_config"];
    manager["route_config"]["virtual_hosts"][0]["routes"] =
        json!([{"match": {"prefix": "/"}, "route": {"cluster": "gateway"}}]);
    let socket = json!({
        "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
        "sni": name,
        "common_tls_context": authority.tls(&authority.certify("shop", "client"), "istio"),
    });
    let address = json!({"socket_address": {"address": "127.0.0.1", "port_value": gateway}});
    let bootstrap = json!({"static_resources": {"listeners": [listener], "clusters": [{
        "name": "gateway",
        "type": "STATIC",
        "transport_socket": {"name": "envoy.transport_sockets.tls", "typed_config": socket},
        "load_assignment": {"cluster_name": "gateway", "endpoints": [{"lb_endpoints": [
            {"endpoint": {"address": address}},
        ]}]},
    }]}});
    let envoy = Envoy::of(Version::Tested).workers(1).start(&bootstrap.to_string());
    let url = format!("http://{}", envoy.listener("elsewhere"));
    Ingress { envoy, url }
}

fn passthrough(port: u16) -> String {
    format!(
        "
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {{name: between-networks, namespace: istio-system}}
spec:
  selector: {{istio: ingressgateway}}
  servers:
  - port: {{number: {port}, name: tls, protocol: TLS}}
    bind: 127.0.0.1
    tls: {{mode: AUTO_PASSTHROUGH}}
    hosts: ['*.local']
"
    )
}

/// Routes all requests of the gateway to that cluster.
fn rerouted(cluster: &str) -> Value {
    json!({
        "apiVersion": "networking.istio.io/v1alpha3",
        "kind": "EnvoyFilter",
        "metadata": {"name": "rerouted", "namespace": "istio-system"},
        "spec": {
            "workloadSelector": {"labels": {"istio": "ingressgateway"}},
            "configPatches": [{
                "applyTo": "HTTP_ROUTE",
                "match": {"context": "GATEWAY"},
                "patch": {"operation": "MERGE", "value": {"route": {"cluster": cluster}}},
            }],
        },
    })
}
