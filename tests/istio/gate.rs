//! The gate on the header: clients of the public port cannot ask for it.

use burst_testkit::{Version, http, port, wait, wasm};

use crate::{
    gateway::{PUBLIC, change},
    mesh::{Mesh, SOON, open_gateway},
    routes, shipped,
    shop::WEB,
};

const GATE: &str = include_str!("../../istio/gate.yaml");
const WHEN: &str = r#"{"spec": {"pluginConfig": {"header": {"when": {"request_header": "x-want-burst"}}}}}"#;

#[test]
fn clients_of_the_public_port_cannot_ask_for_the_header() {
    let mesh = Mesh::start();
    let inside = port::free();
    let ingress = mesh.gateway(
        Version::Oldest,
        "ingressgateway",
        "istio-system",
        |label, namespace, port| {
            let inside = open_gateway(label, namespace, inside).replace("name: public", "name: inside");
            [open_gateway(label, namespace, port), inside].join("---")
        },
    );
    let both = routes::VIRTUAL_SERVICE.replace("[istio-system/public]", "[istio-system/public, istio-system/inside]");
    mesh.cluster.apply(&both);
    let pod = mesh.ingress_pod();
    let _ = shipped::apply(&mesh.cluster, "gateway", &wasm("burst-metrics.wasm"), &pod);
    ingress.wait_for_header(PUBLIC, "/", Some(WEB));
    change(&mesh, "patch", WHEN);
    ingress.wait_for_header(PUBLIC, "/", None);

    let asking = |port: u16| {
        http::send(
            "GET",
            &format!("http://127.0.0.1:{port}/"),
            &[("host", PUBLIC), ("x-want-burst", "1")],
        )
    };
    let header = |port| asking(port).header("x-burst").map(str::to_owned);
    assert_eq!(
        header(ingress.address().port()).as_deref(),
        Some(WEB),
        "a gate is no lock"
    );
    mesh.cluster
        .apply(&GATE.replace("portNumber: 8080", &format!("portNumber: {}", ingress.address().port())));
    wait::until(SOON, "the lock", || header(ingress.address().port()).is_none());
    wait::until(SOON, "the other port as before", || {
        header(inside).as_deref() == Some(WEB)
    });
}
