//! `x-envoy-degraded` on the responses of a full service.

use super::kube::Kube;
use super::{FULL, HEADER_ONLY, SECOND};
use crate::host::{Answer, FakeEnvoy, Module, Request, Response, Route, Seen};
use std::time::Duration;

const DEGRADED: &str = "x-envoy-degraded";

/// The utilization of `shop/web`, with 1 of 5 replicas, for which its HPA wants that many replicas.
const fn wanting(replicas: u32) -> u32 {
    replicas * 100
}

/// A proxy that has read a cluster in which nothing is full.
fn proxy(module: Module, kube: &Kube, degraded: &str, more: &str) -> FakeEnvoy {
    let configuration = format!(
        r#"{{"cluster":"kube_api","sync":{{"mode":"list"}},"poll_interval":"1s","max_staleness":"10s",
            "degraded":{degraded}{more}}}"#
    );
    kube.set_status("shop/web", 1, wanting(1));
    let kube = kube.clone();
    let envoy = FakeEnvoy::new(module).config(configuration).cluster("kube_api");
    let envoy = envoy.kube(move |callout| kube.answer(callout));
    envoy.worker();
    envoy.advance(SECOND).answer();
    envoy
}

fn answer(envoy: &FakeEnvoy, route: Route) -> Seen {
    envoy.vms()[0].request(Request::get("/"), route)
}

fn is_degraded(envoy: &FakeEnvoy) -> bool {
    let seen = answer(envoy, Route::istio("web", "shop"));
    assert_eq!(seen.status(), 200);
    seen.header(DEGRADED).is_some()
}

fn set_demand(envoy: &FakeEnvoy, kube: &Kube, replicas: u32) {
    kube.set_status("shop/web", 1, wanting(replicas));
    envoy.advance(SECOND).answer();
}

#[test]
fn a_full_service_says_so_until_it_is_below_the_lower_mark() {
    for module in [FULL, HEADER_ONLY] {
        let kube = Kube::new().with("shop/api", 1, 5);
        let envoy = proxy(module, &kube, r#"{"hold":"5s"}"#, "");
        assert!(!is_degraded(&envoy));
        set_demand(&envoy, &kube, 5);
        let seen = answer(&envoy, Route::istio("web", "shop"));
        assert_eq!(seen.header(DEGRADED), Some("true"));
        assert!(seen.header("x-burst").is_some());
        let other = answer(&envoy, Route::istio("api", "shop"));
        assert_eq!(other.header(DEGRADED), None, "another service is not full");
        // Between the marks, and then below both.
        envoy.advance(SECOND * 5);
        set_demand(&envoy, &kube, 4);
        assert!(is_degraded(&envoy));
        set_demand(&envoy, &kube, 3);
        assert!(!is_degraded(&envoy));
        // Full again, within the hold time and after it.
        set_demand(&envoy, &kube, 5);
        assert!(!is_degraded(&envoy));
        envoy.advance(SECOND * 4).answer();
        assert!(is_degraded(&envoy));
        assert_eq!(envoy.advance(SECOND).stat("burst_degraded_entered_total"), Some(2));
        assert_eq!(envoy.stat("burst_degraded_added_total"), Some(3));
        assert_eq!(envoy.stat("burst_degraded_lost_total"), Some(0));
    }
}

#[test]
fn envoys_own_503_says_so_too() {
    let kube = Kube::new();
    let envoy = proxy(FULL, &kube, "{}", "");
    set_demand(&envoy, &kube, 9);
    let seen = answer(&envoy, Route::istio("web", "shop").without_hosts());
    assert_eq!((seen.status(), seen.header(DEGRADED)), (503, Some("true")));
}

#[test]
fn the_upstreams_own_header_stays() {
    let kube = Kube::new();
    let envoy = proxy(FULL, &kube, "{}", "");
    let own = || Route::istio("web", "shop").answering(Response::ok().header(DEGRADED, "pod"));
    assert_eq!(answer(&envoy, own()).header(DEGRADED), Some("pod"));
    set_demand(&envoy, &kube, 5);
    assert_eq!(answer(&envoy, own()).header(DEGRADED), Some("pod"));
}

#[test]
fn a_stale_snapshot_ends_it_whatever_the_burst_header_does() {
    for on_stale in ["drop", "keep", "mark"] {
        let kube = Kube::new();
        let more = format!(r#","on_stale":"{on_stale}""#);
        let envoy = proxy(FULL, &kube, r#"{"hold":"20s"}"#, &more);
        set_demand(&envoy, &kube, 5);
        assert!(is_degraded(&envoy));
        for resource in ["horizontalpodautoscalers", "services", "deployments", "statefulsets"] {
            kube.fail(resource, || Answer::Unreachable);
        }
        envoy.advance(SECOND * 9);
        assert!(is_degraded(&envoy), "not stale yet");
        envoy.advance(SECOND * 3);
        assert!(!is_degraded(&envoy), "on_stale: {on_stale}");
        kube.heal();
        envoy.advance(SECOND * 10).answer();
        assert!(!is_degraded(&envoy), "read again, within the hold time");
        envoy.advance(SECOND * 10).answer();
        assert!(is_degraded(&envoy));
        assert_eq!(envoy.advance(SECOND).stat("burst_degraded_lost_total"), Some(1));
    }
}

#[test]
fn a_dry_run_counts_and_changes_nothing() {
    let kube = Kube::new();
    let envoy = proxy(FULL, &kube, r#"{"dry_run":true}"#, "");
    set_demand(&envoy, &kube, 5);
    assert!(!is_degraded(&envoy));
    assert!(!is_degraded(&envoy));
    envoy.advance(SECOND);
    for (stat, count) in [
        ("burst_degraded_dry_run_total", 2),
        ("burst_degraded_entered_total", 1),
        ("burst_degraded_added_total", 0),
    ] {
        assert_eq!(envoy.stat(stat), Some(count), "{stat}");
    }
}

#[test]
fn it_depends_neither_on_the_gate_nor_on_the_burst_header() {
    for header in [
        r#"{"when":{"request_header":"x-probe"}}"#,
        r#"{"upstream":"keep"}"#,
        r#"{"value":"constant"}"#,
    ] {
        let kube = Kube::new();
        let envoy = proxy(FULL, &kube, "{}", &format!(r#","header":{header}"#));
        set_demand(&envoy, &kube, 5);
        let route = Route::istio("web", "shop").answering(Response::ok().header("x-burst", "own"));
        assert_eq!(answer(&envoy, route).header(DEGRADED), Some("true"), "{header}");
    }
}

#[test]
fn the_filters_own_replies_and_unknown_services_never_say_so() {
    let kube = Kube::new();
    let envoy = proxy(FULL, &kube, "{}", "");
    set_demand(&envoy, &kube, 5);
    let own = envoy.vms()[0].request(Request::get("/burstmetrics/services"), Route::istio("web", "shop"));
    assert_eq!((own.status(), own.header(DEGRADED)), (200, None));
    for route in [
        Route::istio("unscaled", "shop"),
        Route::to("PassthroughCluster"),
        Route::direct_response(Response::ok()),
    ] {
        assert_eq!(answer(&envoy, route).header(DEGRADED), None);
    }
}

#[test]
fn a_service_that_is_not_full_costs_no_host_call() {
    let calls = |degraded: &str| {
        let kube = Kube::new();
        let envoy = proxy(FULL, &kube, degraded, "");
        let worker = &envoy.vms()[0];
        worker.request(Request::get("/"), Route::istio("web", "shop"));
        let before = worker.host_calls();
        worker.request(Request::get("/"), Route::istio("web", "shop"));
        worker.host_calls() - before
    };
    assert_eq!(calls("{}"), calls("null"));
}

#[test]
fn a_load_that_jumps_each_second_changes_it_once_in_the_hold_time() {
    let kube = Kube::new();
    let envoy = proxy(FULL, &kube, r#"{"hold":"30s"}"#, "");
    let mut seen = Vec::new();
    for second in 0..300 {
        set_demand(&envoy, &kube, if second % 2 == 0 { 9 } else { 1 });
        seen.push(is_degraded(&envoy));
    }
    let changes = seen.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(
        (8..=10).contains(&changes),
        "{changes} changes in {:?}",
        Duration::from_secs(300)
    );
}
