//! Which property exists in which phase.

use super::{envoy, last};
use crate::host::{FakeEnvoy, Plugin, Request, Response, Route};
use proxy_wasm::hostcalls;

/// The value of a property that a phase has read.
fn seen(envoy: &FakeEnvoy, phase: &str, property: &str) -> String {
    last(envoy, &format!("{phase} {property}: ")).unwrap()
}

fn through(route: Route, path: &str) -> FakeEnvoy {
    let envoy = envoy("");
    envoy.worker().request(Request::get(path), route);
    envoy
}

/// Each row has a property, then its values in the request, response and log phase.
fn assert_seen(envoy: &FakeEnvoy, rows: &[(&str, [&str; 3])]) {
    for (property, expected) in rows {
        let phases = ["request", "response", "log"].map(|phase| seen(envoy, phase, property));
        assert_eq!(&phases, expected, "{property}");
    }
}

#[test]
fn each_phase_sees_its_own_properties() {
    let route = Route::istio("web", "shop")
        .service("b.test", "b", "other")
        .property(&["xds", "route_name"], "r");
    let cluster = "outbound|80||web.shop.svc.cluster.local";
    assert_seen(
        &through(route, "/p?q=1"),
        &[
            ("xds.cluster_name", [cluster; 3]),
            ("cluster_name", ["none"; 3]),
            ("xds.route_name", ["r"; 3]),
            (
                "xds.cluster_metadata.filter_metadata.istio.services.1.namespace",
                ["other"; 3],
            ),
            ("request.path", ["/p?q=1", "none", "/p?q=1"]),
            ("response.code_details", ["none", "via_upstream", "via_upstream"]),
            ("upstream.address", ["none", "127.0.0.1:8080", "127.0.0.1:8080"]),
            (
                "xds.upstream_host_locality_metadata",
                ["none", "SerializationFailure", "SerializationFailure"],
            ),
        ],
    );
}

#[test]
fn envoys_own_replies_have_no_upstream() {
    assert_seen(
        &through(Route::to("web").without_hosts(), "/"),
        &[
            ("xds.cluster_name", ["web"; 3]),
            (
                "response.code_details",
                ["none", "no_healthy_upstream", "no_healthy_upstream"],
            ),
            ("upstream.address", ["none"; 3]),
        ],
    );
    for route in [Route::unknown_cluster(), Route::direct_response(Response::ok())] {
        assert_seen(&through(route, "/"), &[("xds.cluster_name", ["none"; 3])]);
    }
}

#[test]
fn the_filters_own_reply_can_still_read_the_request() {
    let envoy = through(Route::to("web"), "/reply");
    assert_eq!(seen(&envoy, "response", "request.path"), "/reply");
    assert_eq!(seen(&envoy, "response", "xds.cluster_name"), "web");
    for phase in ["response", "log"] {
        assert_eq!(seen(&envoy, phase, "response.code_details"), "none");
        assert_eq!(seen(&envoy, phase, "upstream.address"), "none");
    }
}

#[test]
fn a_reply_in_the_response_phase_keeps_the_upstream_address_but_not_the_code_details() {
    let envoy = through(Route::to("web").answering(Response::ok().header("x-replace", "1")), "/");
    assert_eq!(seen(&envoy, "log", "response.code_details"), "none");
    assert_eq!(seen(&envoy, "log", "upstream.address"), "127.0.0.1:8080");
}

#[test]
fn a_root_context_knows_its_plugin() {
    let named = Plugin {
        root_id: "root".to_owned(),
        ..Plugin::named("name")
    };
    let read = |name| move || hostcalls::get_property(vec![name]).unwrap();
    let worker = envoy("").plugin(named).vm_id("id").worker();
    for (property, value) in [
        ("plugin_name", "name"),
        ("plugin_root_id", "root"),
        ("plugin_vm_id", "id"),
    ] {
        assert_eq!(worker.inside(read(property)).unwrap(), value.as_bytes(), "{property}");
    }
    assert_eq!(
        envoy("").worker().inside(read("plugin_root_id")),
        None,
        "an empty one reads as none"
    );
}
