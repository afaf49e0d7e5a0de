//! The header on responses.

use super::kube::Kube;
use super::{EVERY_SECOND, SECOND, envoy};
use crate::host::{By, FakeEnvoy, Request, Response, Route};

const VALUE: &str = "service=shop/web, current-load=1, target-load=4, max-load=5";

/// A proxy that has read its cluster, with additional configuration keys.
fn synced(more: &str) -> FakeEnvoy {
    let configuration = format!(r#"{{"cluster":"kube_api","sync":{{"mode":"list"}},"poll_interval":"1s"{more}}}"#);
    let envoy = envoy(&configuration, &Kube::new());
    envoy.worker();
    envoy.advance(SECOND).answer();
    envoy
}

/// The header on the response of the first worker.
fn header_of(envoy: &FakeEnvoy, name: &str, request: Request, route: Route) -> Option<String> {
    envoy.vms()[0].request(request, route).header(name).map(str::to_owned)
}

fn plain(envoy: &FakeEnvoy, route: Route) -> Option<String> {
    header_of(envoy, "x-burst", Request::get("/"), route)
}

#[test]
fn a_worker_that_never_polled_serves_what_another_thread_read() {
    let envoy = envoy(EVERY_SECOND, &Kube::new());
    let (main, worker) = (envoy.main_thread(), envoy.worker());
    assert_eq!(worker.response("web.shop").header("x-burst"), None);
    main.tick().answer();
    worker.tick();
    assert_eq!(worker.response("web.shop").header("x-burst"), Some(VALUE));
}

#[test]
fn the_header_follows_the_cluster_within_an_interval() {
    let kube = Kube::new();
    let envoy = envoy(EVERY_SECOND, &kube);
    let worker = envoy.worker();
    envoy.advance(SECOND).answer();
    assert_eq!(worker.response("web.shop").header("x-burst"), Some(VALUE));
    kube.scale("shop/web", 5);
    envoy.advance(SECOND).answer();
    let full = "service=shop/web, current-load=5, target-load=4, max-load=5";
    assert_eq!(worker.response("web.shop").header("x-burst"), Some(full));
    kube.delete("shop/web");
    envoy.advance(SECOND).answer();
    assert_eq!(worker.response("web.shop").header("x-burst"), None);
}

#[test]
fn a_service_is_found_by_rule_by_metadata_and_by_name() {
    let envoy = synced(r#","clusters":[{"name":"web-backend","service":"shop/web"}]"#);
    for (route, expected) in [
        (Route::to("web-backend"), Some(VALUE)),
        (
            Route::to("renamed").service("alias.example.org", "web", "shop"),
            Some(VALUE),
        ),
        (Route::to("outbound|80||web.shop.svc.cluster.local"), Some(VALUE)),
        (Route::to("outbound|80||other.shop.svc.cluster.local"), None),
        (Route::to("PassthroughCluster"), None),
        (Route::unknown_cluster(), None),
        (Route::direct_response(Response::ok()), None),
    ] {
        let shown = format!("{route:?}");
        assert_eq!(plain(&envoy, route).as_deref(), expected, "{shown}");
    }
}

#[test]
fn a_sidecar_is_found_by_the_services_of_the_port_or_by_its_owner() {
    let envoy = synced("");
    let inbound = |port| Route::to(&format!("inbound|{port}||"));
    let owner = ["xds", "node", "metadata", "OWNER"];
    let deployment = |name| format!("kubernetes://apis/apps/v1/namespaces/shop/deployments/{name}");
    for (route, expected) in [
        (
            inbound(1).service("web.shop.svc.cluster.local", "web", "shop"),
            Some(VALUE),
        ),
        (
            inbound(2)
                .service("no.shop.svc", "no", "shop")
                .service("web.shop.svc", "web", "shop"),
            Some(VALUE),
        ),
        (inbound(3).property(&owner, deployment("web")), Some(VALUE)),
        (
            inbound(4)
                .property(&owner, deployment("web"))
                .service("no.shop.svc", "no", "shop"),
            Some(VALUE),
        ),
        (inbound(5).property(&owner, deployment("other")), None),
        (inbound(6), None),
    ] {
        let shown = format!("{route:?}");
        assert_eq!(plain(&envoy, route).as_deref(), expected, "{shown}");
    }
}

#[test]
fn a_route_of_envoy_gateway_is_found_by_the_endpoint_that_answered() {
    let envoy = synced("");
    let backend = |kind: &str, name: &str| {
        let resource = [
            "xds",
            "upstream_host_locality_metadata",
            "filter_metadata",
            "envoy-gateway",
            "resources",
            "0",
        ];
        let at = |key| [&resource[..], &[key]].concat();
        Route::to("httproute/shop/front/rule/0")
            .property(&at("kind"), kind)
            .property(&at("namespace"), "shop")
            .property(&at("name"), name)
    };
    assert_eq!(plain(&envoy, backend("Service", "web")).as_deref(), Some(VALUE));
    assert_eq!(plain(&envoy, backend("Service", "unscaled")), None);
    assert_eq!(
        plain(&envoy, backend("Backend", "web")),
        None,
        "a Backend is outside the cluster"
    );
    assert_eq!(
        plain(&envoy, backend("Service", "web")).as_deref(),
        Some(VALUE),
        "each response is resolved anew"
    );
}

#[test]
fn a_cluster_whose_metadata_arrives_late_is_resolved_again() {
    let envoy = synced("");
    let metadata = || Route::to("inbound|8080||").service("web.shop.svc.cluster.local", "web", "shop");
    assert_eq!(plain(&envoy, Route::to("inbound|8080||")), None);
    assert_eq!(
        plain(&envoy, metadata()),
        None,
        "a cluster name is resolved once between two reads of the cluster"
    );
    envoy.advance(SECOND).answer();
    assert_eq!(plain(&envoy, metadata()).as_deref(), Some(VALUE));
}

#[test]
fn a_fully_scaled_service_has_its_header_on_envoys_own_503() {
    let envoy = synced("");
    let seen = envoy.vms()[0].request(Request::get("/"), Route::istio("web", "shop").without_hosts());
    assert_eq!((seen.status(), seen.header("x-burst")), (503, Some(VALUE)));
}

#[test]
fn the_upstreams_header_is_replaced_or_removed_unless_it_is_kept() {
    let with = |name, namespace| Route::istio(name, namespace).answering(Response::ok().header("x-burst", "mine"));
    let envoy = synced("");
    assert_eq!(plain(&envoy, with("web", "shop")).as_deref(), Some(VALUE));
    assert_eq!(plain(&envoy, with("other", "shop")), None);
    let keeping = synced(r#","header":{"upstream":"keep"}"#);
    assert_eq!(plain(&keeping, with("web", "shop")).as_deref(), Some("mine"));
    assert_eq!(plain(&keeping, Route::istio("web", "shop")).as_deref(), Some(VALUE));
}

#[test]
fn a_gate_matches_by_prefix_or_by_presence() {
    let route = || Route::istio("web", "shop").answering(Response::ok().header("x-burst", "leak"));
    let from = |agent: &[u8]| Request::get("/").header("user-agent", agent);
    let by_prefix = synced(r#","header":{"when":{"request_header":"User-Agent","prefix":"HealthCheck"}}"#);
    for (agent, expected) in [
        (&b"HealthCheck/1.0"[..], Some(VALUE)),
        (b"Mozilla/5.0", None),
        (b"", None),
        (b"\xff\xfe not text", None),
        (b"HealthCheck\xff", Some(VALUE)),
    ] {
        assert_eq!(
            header_of(&by_prefix, "x-burst", from(agent), route()).as_deref(),
            expected,
            "{agent:?}"
        );
    }
    assert_eq!(plain(&by_prefix, route()), None, "no user-agent at all");
    let by_presence = synced(r#","header":{"when":{"request_header":"x-probe"}}"#);
    assert_eq!(plain(&by_presence, route()), None);
    let probe = Request::get("/").header("x-probe", "");
    assert_eq!(
        header_of(&by_presence, "x-burst", probe, route()).as_deref(),
        Some(VALUE)
    );
}

#[test]
fn the_headers_name_extra_keys_and_constant_value_are_configurable() {
    let named = synced(r#","header":{"name":"X-Load-Feedback","extra_keys":["as-of","stale"]}"#);
    let now = named.now().as_secs();
    let seen = header_of(
        &named,
        "x-load-feedback",
        Request::get("/"),
        Route::istio("web", "shop"),
    );
    assert_eq!(seen, Some(format!("{VALUE}, as-of={now}, stale=false")));
    let aged = synced(r#","header":{"extra_keys":["headroom","age"]}"#);
    let seen = plain(&aged, Route::istio("web", "shop"));
    assert_eq!(seen, Some(format!("{VALUE}, headroom=4, age=0")));
    let constant = synced(r#","header":{"value":"service=static, current-load=0, target-load=1, max-load=1"}"#);
    let seen = plain(&constant, Route::istio("anything", "anywhere"));
    assert_eq!(
        seen.as_deref(),
        Some("service=static, current-load=0, target-load=1, max-load=1")
    );
}

#[test]
fn bytes_that_are_not_utf8_trap_no_vm() {
    let envoy = synced("");
    for request in [
        Request::get(b"/\xff\xfe"),
        Request::get("/").host(b"\xff"),
        Request::get("/").header("user-agent", b"\xc3\x28"),
        Request::get(b"/burstmetrics/\xff"),
    ] {
        let seen = envoy.vms()[0].request(request, Route::to("\u{fffd}"));
        assert!(envoy.vms()[0].alive());
        assert!(matches!(seen.by, By::Filter | By::Upstream), "{}", seen.status());
    }
}

#[test]
fn a_header_has_the_signals_that_it_names_as_long_as_they_are_known() {
    let kube = Kube::new();
    let configuration = EVERY_SECOND.replacen('{', r#"{"header":{"extra_keys":["ready","demand","state"]},"#, 1);
    let envoy = envoy(&configuration, &kube);
    let worker = envoy.worker();
    let next = || {
        envoy.advance(SECOND).answer();
        worker.response("web.shop").header("x-burst").map(str::to_owned)
    };
    assert_eq!(next(), Some(format!("{VALUE}, state=ok")));
    kube.set_status("shop/web", 0, 701);
    assert_eq!(next(), Some(format!("{VALUE}, ready=0, demand=8, state=limited")));
    kube.set_status("shop/web", 1, 100);
    assert_eq!(next(), Some(format!("{VALUE}, ready=1, demand=1, state=ok")));
}

#[test]
fn a_status_is_no_new_snapshot_where_no_signal_is_named() {
    for (more, changes) in [
        ("", false),
        (r#""header":{"extra_keys":["state"]},"#, false),
        (r#""header":{"extra_keys":["demand"]},"#, true),
        (r#""endpoints":{"extra_fields":["ready"]},"#, true),
    ] {
        let kube = Kube::new();
        kube.set_status("shop/web", 1, 100);
        let envoy = envoy(&EVERY_SECOND.replacen('{', &format!("{{{more}"), 1), &kube);
        envoy.worker();
        // A tick reads, and the next one shows the generation.
        let generation = || {
            envoy.advance(SECOND).answer();
            envoy.advance(SECOND).answer();
            envoy.stat("burst_snapshot_generation").expect("a snapshot")
        };
        let before = generation();
        kube.set_status("shop/web", 2, 200);
        assert_eq!(generation() != before, changes, "{more}");
    }
}
