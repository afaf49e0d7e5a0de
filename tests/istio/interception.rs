//! The sidecar sets with a proxy that intercepts all traffic of a pod, as in a cluster.

use std::net::{Ipv4Addr, SocketAddr};

use burst_testkit::{Envoy, Node, Version, http, wait, wasm};
use serde_json::json;

use crate::{
    mesh::{Mesh, SOON},
    shipped::{self, Pod},
    shop::WEB,
    sidecar::{HOST, PLAIN_TEXT, service},
};

#[test]
fn an_intercepting_sidecar_sends_the_header_of_the_service_of_its_port() {
    let mesh = Mesh::start();
    mesh.cluster.apply(PLAIN_TEXT);
    mesh.cluster.apply(ORIGINAL_DESTINATION);
    let pod = Pod::new(&mesh.cluster, "default", "shop");
    let program = mesh.programs.listener("web-v1");
    mesh.cluster.apply(&service(program.port()).to_string());
    let node = Node::intercepting_sidecar("web", "shop", &json!({"app": "web"})).at(POD);
    let envoy = Envoy::of(Version::Tested)
        .workers(1)
        .start(&mesh.istiod.bootstrap(&node));
    let inbound = format!("inbound|{}||", program.port());
    wait::until(SOON, &inbound, || {
        envoy
            .admin("/config_dump?resource=dynamic_listeners")
            .body
            .contains(&inbound)
    });
    let sidecar = SocketAddr::from((Ipv4Addr::LOCALHOST, mesh.istiod.inbound()));
    for form in ["sidecar", "sidecar-envoyfilter"] {
        let applied = shipped::apply(&mesh.cluster, form, &wasm("burst-metrics.wasm"), &pod);
        let marked = format!("x-burst: {WEB}\r\n");
        wait::for_ok(SOON, form, || {
            let answer = ask(sidecar, program)?;
            if answer.contains(&marked) && answer.ends_with("web-v1") {
                Ok(())
            } else {
                Err(answer)
            }
        });
        applied.delete(&mesh.cluster);
        wait::for_ok(SOON, "no header", || {
            let answer = ask(sidecar, program)?;
            if answer.contains("x-burst") {
                Err(answer)
            } else {
                Ok(())
            }
        });
    }
}

/// Sends the sidecar a request whose original destination is the program.
fn ask(sidecar: SocketAddr, program: SocketAddr) -> Result<String, String> {
    let (address, port) = (program.ip(), program.port());
    let request = format!(
        "PROXY TCP4 127.0.0.1 {address} 40000 {port}\r\n\
         GET / HTTP/1.1\r\nhost: {HOST}\r\nconnection: close\r\n\r\n"
    );
    let answer = http::raw(sidecar, request.as_bytes()).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Nothing redirects the test's traffic, so the PROXY protocol tells the sidecar the original destination.
const ORIGINAL_DESTINATION: &str = "
apiVersion: networking.istio.io/v1alpha3
kind: EnvoyFilter
metadata: {name: original-destination, namespace: shop}
spec:
  configPatches:
  - applyTo: LISTENER_FILTER
    match: {context: SIDECAR_INBOUND, listener: {name: virtualInbound}}
    patch:
      operation: INSERT_FIRST
      value:
        name: proxy-protocol
        typed_config:
          '@type': type.googleapis.com/envoy.extensions.filters.listener.proxy_protocol.v3.ProxyProtocol
";

/// The pod's address in istiod. The programs have other addresses.
const POD: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
