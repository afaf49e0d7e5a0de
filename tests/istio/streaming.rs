//! Streams in a mesh: the filter of the listener is also an upstream filter of the cluster `burst_kube_api`, by the resource that
//! istiod has for it.

use burst_testkit::{Version, wait, wasm};
use serde_json::Value;

use crate::{
    gateway::{PUBLIC, change},
    mesh::{Ingress, Mesh, SOME, SOON},
    routes, shipped,
    shop::{self, WEB},
};

/// A request that has ended, also one of the upstream filter.
const ENDED: &str = "cluster.burst_kube_api.upstream_rq_completed";

/// Waits until a change of `web` shows while no request to the API server ends: a stream brought it. `header` is the header of
/// `web` with one replica.
#[track_caller]
pub(crate) fn wait_for_streams(mesh: &Mesh, proxy: &Ingress, host: &str, header: &str) {
    let ended = || proxy.envoy.stat(ENDED);
    let mut replicas = 2;
    wait::for_ok(SOON, "a change by a stream", || {
        let before = ended();
        replicas = 5 - replicas;
        shop::scale(&mesh.cluster, "web", replicas);
        let changed = header.replace("current-load=1", &format!("current-load={replicas}"));
        proxy.wait_for_header(host, "/", Some(&changed));
        if ended() == before {
            Ok(())
        } else {
            Err(format!("{before:?} requests had ended, now {:?}", ended()))
        }
    });
    shop::scale(&mesh.cluster, "web", 1);
    proxy.wait_for_header(host, "/", Some(header));
}

#[test]
fn a_gateway_without_the_resource_of_its_upstream_filter_reads_in_windows() {
    let mesh = Mesh::start();
    let ingress = mesh.ingress(Version::Tested);
    mesh.cluster.apply(routes::VIRTUAL_SERVICE);
    let pod = mesh.ingress_pod();
    let mut objects = shipped::set(&mesh.cluster, "gateway");
    rename_resource(&mut objects, "istio-system.burst-metrics", "elsewhere.burst-metrics");
    let _ = shipped::apply_objects(&mesh.cluster, objects, &wasm("burst-metrics.wasm"), &pod);
    ingress.wait_for_header(PUBLIC, "/", Some(WEB));
    let words = r#"this filter is not an upstream filter of the Envoy cluster "burst_kube_api""#;
    ingress.envoy.wait_for_log(SOON, words);
    shop::scale(&mesh.cluster, "web", 2);
    let changed = WEB.replace("current-load=1", "current-load=2");
    ingress.wait_for_header(PUBLIC, "/", Some(&changed));
}

/// Changes the names of the upstream filters.
fn rename_resource(objects: &mut [Value], from: &str, to: &str) {
    let is_kube_api = |object: &&mut Value| object["metadata"]["name"] == "burst-metrics-kube-api";
    let object = objects.iter_mut().find(is_kube_api).expect("the cluster");
    let renamed = object.to_string().replace(&format!("/{from}"), &format!("/{to}"));
    assert_ne!(renamed, object.to_string());
    *object = serde_json::from_str(&renamed).expect("JSON");
}

#[test]
fn a_gateway_streams_again_after_its_plugin_was_removed() {
    let mesh = Mesh::start();
    let ingress = mesh.ingress(Version::Tested);
    mesh.cluster.apply(routes::VIRTUAL_SERVICE);
    let pod = mesh.ingress_pod();
    let module = wasm("burst-metrics.wasm");
    let applied = shipped::apply(&mesh.cluster, "gateway", &module, &pod);
    wait_for_streams(&mesh, &ingress, PUBLIC, WEB);
    let traffic = ingress.traffic(PUBLIC).start();
    // The cluster and its upstream filter stay.
    change(&mesh, "delete", "");
    ingress.wait_for_header(PUBLIC, "/", None);
    traffic.wait_for_more(SOME);
    drop(shipped::apply(&mesh.cluster, "gateway", &module, &pod));
    wait_for_streams(&mesh, &ingress, PUBLIC, WEB);
    // The cluster goes with its streams.
    applied.delete(&mesh.cluster);
    ingress.wait_for_header(PUBLIC, "/", None);
    traffic.wait_for_more(SOME);
    traffic.stop();
}
