//! Streams in a mesh: in the sets that are EnvoyFilters alone, the filter of the listener is also an upstream filter of the
//! cluster `burst_kube_api`. Every gateway starts and serves, whatever becomes of that upstream filter.

use burst_testkit::{Version, wait, wasm};
use serde_json::{Value, json};

use crate::{
    gateway::PUBLIC,
    mesh::{Ingress, Mesh, SOME, SOON},
    routes, shipped,
    shop::{self, API, WEB},
};

const SET: &str = "gateway-envoyfilter";

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

/// Waits until the gateway reads, but not by streams, and checks that a change shows.
#[track_caller]
fn wait_for_windows(mesh: &Mesh, ingress: &Ingress) {
    ingress.wait_for_header(PUBLIC, "/", Some(WEB));
    let words = r#"this filter is not an upstream filter of the Envoy cluster "burst_kube_api""#;
    ingress.envoy.wait_for_log(SOON, words);
    shop::scale(&mesh.cluster, "web", 2);
    let changed = WEB.replace("current-load=1", "current-load=2");
    ingress.wait_for_header(PUBLIC, "/", Some(&changed));
    shop::scale(&mesh.cluster, "web", 1);
    ingress.wait_for_header(PUBLIC, "/", Some(WEB));
}

/// Gateways that start now, one after the other, with the configuration that istiod already has: each Envoy, by each form of
/// ADS.
fn ingresses(mesh: &Mesh) -> impl Iterator<Item = Ingress> {
    const START: [fn(&Mesh, Version) -> Ingress; 2] = [Mesh::ingress, Mesh::incremental_ingress];
    let each = Version::ALL
        .into_iter()
        .flat_map(|version| START.map(|start| (start, version)));
    each.map(|(start, version)| start(mesh, version))
}

#[test]
fn a_gateway_that_starts_after_its_set_streams() {
    let mesh = Mesh::start();
    mesh.cluster.apply(routes::VIRTUAL_SERVICE);
    let pod = mesh.ingress_pod();
    drop(shipped::apply(&mesh.cluster, SET, &wasm("burst-metrics.wasm"), &pod));
    for ingress in ingresses(&mesh) {
        wait_for_streams(&mesh, &ingress, PUBLIC, WEB);
        ingress.wait_for_header(PUBLIC, "/api", Some(API));
    }
}

#[test]
fn a_gateway_without_the_resource_of_its_upstream_filter_starts_and_reads_in_windows() {
    let mesh = Mesh::start();
    mesh.cluster.apply(routes::VIRTUAL_SERVICE);
    let pod = mesh.ingress_pod();
    let mut objects = shipped::set(&mesh.cluster, SET);
    rename_resource(&mut objects, "burst-metrics-elsewhere");
    drop(shipped::apply_objects(
        &mesh.cluster,
        objects,
        &wasm("burst-metrics.wasm"),
        &pod,
    ));
    for ingress in ingresses(&mesh) {
        wait_for_windows(&mesh, &ingress);
    }
}

/// Changes the name of the resource that the cluster names.
fn rename_resource(objects: &mut [Value], name: &str) {
    let is_kube_api = |object: &&mut Value| object["metadata"]["name"] == "burst-metrics-kube-api";
    let object = objects.iter_mut().find(is_kube_api).expect("the cluster");
    let renamed = object
        .to_string()
        .replace("\"burst-metrics-upstream\"", &json!(name).to_string());
    assert_ne!(renamed, object.to_string());
    *object = serde_json::from_str(&renamed).expect("JSON");
}

#[test]
fn a_gateway_whose_image_cannot_be_fetched_starts_and_streams_once_it_can_be() {
    let mesh = Mesh::start();
    mesh.cluster.apply(routes::VIRTUAL_SERVICE);
    let pod = mesh.ingress_pod();
    let module = wasm("burst-metrics.wasm");
    for version in Version::ALL {
        let mut objects = shipped::set(&mesh.cluster, SET);
        replace_filters(&mut objects);
        drop(shipped::apply_objects(&mesh.cluster, objects, &module, &pod));
        let ingress = mesh.incremental_ingress(version);
        ingress.wait_for_header(PUBLIC, "/", None);
        ingress.wait_for_header(PUBLIC, "/api", None);
        let traffic = ingress.traffic(PUBLIC).start();
        let applied = shipped::apply(&mesh.cluster, SET, &module, &pod);
        wait_for_streams(&mesh, &ingress, PUBLIC, WEB);
        traffic.wait_for_more(SOME);
        traffic.stop();
        applied.delete(&mesh.cluster);
        ingress.wait_for_header(PUBLIC, "/", None);
    }
}

/// Does what Istio's agent does with a filter whose image it cannot fetch: another filter takes its place, which refuses every
/// request.
/// <https://github.com/istio/istio/blob/1.30.3/pkg/wasm/convert.go> (`createHTTPDefaultFilter`)
fn replace_filters(objects: &mut [Value]) {
    let rbac = "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC";
    let is_filter =
        |object: &&mut Value| object["kind"] == "EnvoyFilter" && object["metadata"]["name"] == "burst-metrics";
    let filter = objects.iter_mut().find(is_filter).expect("the filter");
    let patches = filter["spec"]["configPatches"].as_array_mut().expect("patches");
    let resources = patches
        .iter_mut()
        .filter(|patch| patch["applyTo"] == "EXTENSION_CONFIG");
    for resource in resources {
        resource["patch"]["value"]["typed_config"] =
            json!({"@type": rbac, "rules": {}, "rules_stat_prefix": "wasm-default-deny"});
    }
}

#[test]
fn a_gateway_streams_again_after_its_filter_was_removed() {
    let mesh = Mesh::start();
    mesh.cluster.apply(routes::VIRTUAL_SERVICE);
    let pod = mesh.ingress_pod();
    let module = wasm("burst-metrics.wasm");
    for ingress in ingresses(&mesh) {
        ingress.wait_for(PUBLIC, "/", "the mesh serves", |answer| answer.status == 200);
        let traffic = ingress.traffic(PUBLIC).start();
        drop(shipped::apply(&mesh.cluster, SET, &module, &pod));
        wait_for_streams(&mesh, &ingress, PUBLIC, WEB);
        // The cluster stays, and names the resource.
        let filter = ["delete", "envoyfilter", "burst-metrics", "--namespace=istio-system"];
        mesh.cluster.kubectl(&filter);
        ingress.wait_for_header(PUBLIC, "/", None);
        traffic.wait_for_more(SOME);
        let applied = shipped::apply(&mesh.cluster, SET, &module, &pod);
        wait_for_streams(&mesh, &ingress, PUBLIC, WEB);
        // The cluster goes with its streams.
        applied.delete(&mesh.cluster);
        ingress.wait_for_header(PUBLIC, "/", None);
        traffic.wait_for_more(SOME);
        traffic.stop();
    }
}
