//! Overflow: the objects of docs/signals.md, on a real istiod.

use std::{collections::BTreeSet, fs};

use burst_testkit::{Version, http, port, repository, wait, wasm};

use crate::{
    gateway::{PUBLIC, change},
    mesh::{Mesh, SOON, open_gateway},
    routes, shipped,
    shop::{WEB, scale},
};

/// The share without a demand is the part above the mark: a fifth.
const OVERFLOW: &str = r#"{"spec": {"pluginConfig": {
    "overflow": {"from": "80%", "key": {"header": "x-user"}, "ramp": "1s"}
}}}"#;

/// The program that stands for the other cluster.
const WEST: &str = "api-v1";

const USERS: usize = 60;

/// The programs that answer the users behind that port.
fn programs(port: u16, more: &[(&str, &str)]) -> Result<BTreeSet<String>, String> {
    let ask = |user: usize| {
        let user = format!("user-{user}");
        let headers = [&[("host", PUBLIC), ("x-user", user.as_str())], more].concat();
        let answer = http::try_send("GET", &format!("http://127.0.0.1:{port}/"), &headers);
        let answer = answer.map_err(|error| error.to_string())?;
        if answer.status != 200 {
            return Err(format!("{answer:?}"));
        }
        Ok(answer.body)
    };
    (0..USERS).map(ask).collect()
}

#[track_caller]
fn wait_for_programs(port: u16, wanted: &[&str]) {
    wait::for_ok(SOON, &format!("{wanted:?} answer"), || {
        let seen = programs(port, &[])?;
        if seen.iter().eq(wanted) {
            Ok(())
        } else {
            Err(format!("{seen:?}"))
        }
    });
}

#[test]
fn a_virtual_service_and_an_http_route_send_what_overflows_to_the_other_cluster() {
    let mesh = Mesh::start();
    let by_route = port::free();
    let ingress = mesh.gateway(
        Version::Tested,
        "ingressgateway",
        "istio-system",
        |label, namespace, port| {
            let gateway_api = routes::gateway_api(label, namespace, by_route);
            [open_gateway(label, namespace, port), gateway_api].join("---")
        },
    );
    let page = fs::read_to_string(repository().join("docs/signals.md")).expect("the page");
    let blocks = page.split("```yaml\n").filter_map(|rest| rest.split_once("```"));
    let examples: Vec<_> = blocks
        .map(|(block, _)| block)
        .filter(|block| block.contains("x-burst-overflow"))
        .collect();
    let west = mesh.programs.listener(WEST).port();
    let address = format!("{{address: 127.0.0.1, ports: {{http: {west}}}}}");
    for example in &examples {
        let here = example.replace("{address: gateway.west.example.com}", &address);
        mesh.cluster
            .apply(&here.replace("{name: public, ", "{name: weighted, "));
    }
    assert_eq!(examples.len(), 2, "a VirtualService and an HTTPRoute");
    let pod = mesh.ingress_pod();
    let _ = shipped::apply(&mesh.cluster, "gateway", &wasm("burst-metrics.wasm"), &pod);
    change(&mesh, "patch", OVERFLOW);
    ingress.wait_for_header(PUBLIC, "/", Some(WEB));
    for port in [ingress.address().port(), by_route] {
        let own = [("x-burst-overflow", "1")];
        wait_for_programs(port, &["web-v1", "web-v2"]);
        let believed = programs(port, &own).expect("answers");
        assert!(!believed.contains(WEST), "a client's own header: {believed:?}");
    }
    scale(&mesh.cluster, "web", 5);
    for port in [ingress.address().port(), by_route] {
        wait_for_programs(port, &[WEST, "web-v1", "web-v2"]);
    }
    scale(&mesh.cluster, "web", 1);
    for port in [ingress.address().port(), by_route] {
        wait_for_programs(port, &["web-v1", "web-v2"]);
    }
}
