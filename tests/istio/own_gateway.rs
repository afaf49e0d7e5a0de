//! Gateways other than Istio's default one: the one that ships with the filter, and one in another namespace.

use burst_testkit::{Version, http::Answer, wasm};

use crate::{
    gateway::PUBLIC,
    mesh::{Mesh, open_gateway},
    routes,
    shipped::{self, Pod},
    shop::WEB,
};

#[test]
fn a_dedicated_gateway_does_not_change_the_default_one() {
    let mesh = Mesh::start();
    let pod = Pod::new(&mesh.cluster, "burst-gateway", "burst-metrics");
    let applied = shipped::apply(&mesh.cluster, "own-gateway", &wasm("burst-metrics.wasm"), &pod);
    let ingress = mesh.ingress(Version::Tested);
    let own = mesh.gateway(Version::Tested, "burst-gateway", "burst-metrics", open_gateway);
    let both = routes::VIRTUAL_SERVICE.replace("[istio-system/public]", "[istio-system/public, burst-metrics/public]");
    mesh.cluster.apply(&both);

    own.wait_for_header(PUBLIC, "/", Some(WEB));
    ingress.wait_for_header(PUBLIC, "/", None);
    let single = own.get("burst-gateway.burst-metrics", "/burstmetrics/services/shop/web");
    assert_eq!(
        single.map(|Answer { status, body, .. }| (status, body)),
        Ok((200, WEB.to_owned()))
    );

    applied.delete(&mesh.cluster);
    let left = ["get", "clusterroles,clusterrolebindings", "--output=name"];
    let left = mesh.cluster.kubectl(&left);
    assert!(!left.contains("burst-metrics"), "{left}");
}

#[test]
fn a_gateway_elsewhere_has_its_namespace_labels_and_account() {
    let mesh = Mesh::start();
    let pod = Pod::new(&mesh.cluster, "istio-ingress", "istio-ingress");
    let elsewhere = mesh.gateway(Version::Tested, "ingress", "istio-ingress", open_gateway);
    mesh.cluster
        .apply(&routes::VIRTUAL_SERVICE.replace("istio-system/public", "istio-ingress/public"));
    let _ = shipped::apply(&mesh.cluster, "gateway-elsewhere", &wasm("burst-metrics.wasm"), &pod);

    elsewhere.wait_for_header(PUBLIC, "/", Some(WEB));
    let single = elsewhere.get("istio-ingress.istio-ingress", "/burstmetrics/services/shop/web");
    assert_eq!(
        single.map(|Answer { status, body, .. }| (status, body)),
        Ok((200, WEB.to_owned()))
    );
}
