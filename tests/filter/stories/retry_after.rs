//! `Retry-After` on the 503 and 429 of a limited service.

use super::kube::Kube;
use super::{FULL, HEADER_ONLY, SECOND};
use crate::host::{Answer, FakeEnvoy, Module, Request, Response, Route, Seen};
use std::collections::BTreeSet;

const RETRY_AFTER: &str = "retry-after";

/// A proxy that has read a cluster in which `shop/web` has 5 of 5 replicas, and its HPA wants that many.
fn proxy(module: Module, kube: &Kube, wanted: u32, more: &str) -> FakeEnvoy {
    let configuration = format!(
        r#"{{"cluster":"kube_api","sync":{{"mode":"list"}},"poll_interval":"1s","max_staleness":"10s"{more}}}"#
    );
    kube.scale("shop/web", 5);
    kube.set_status("shop/web", 5, wanted * 20);
    let kube = kube.clone();
    let envoy = FakeEnvoy::new(module).config(configuration).cluster("kube_api");
    let envoy = envoy.kube(move |callout| kube.answer(callout));
    envoy.worker();
    envoy.advance(SECOND).answer();
    envoy
}

fn answer(envoy: &FakeEnvoy, response: Response) -> Seen {
    let route = Route::istio("web", "shop").answering(response);
    envoy.vms()[0].request(Request::get("/"), route)
}

fn delay(envoy: &FakeEnvoy, status: u16) -> Option<u64> {
    let seen = answer(envoy, Response::status(status));
    assert_eq!(seen.status(), status);
    seen.header(RETRY_AFTER).map(|delay| delay.parse().unwrap())
}

#[test]
fn refused_clients_of_a_limited_service_come_back_at_different_times() {
    for module in [FULL, HEADER_ONLY] {
        let envoy = proxy(module, &Kube::new(), 10, r#","retry_after":{}"#);
        // 15 s for a sync of the HPA, and 15 s × 10 ÷ 5 more.
        let delays: BTreeSet<_> = (0..200).map(|_| delay(&envoy, 503).unwrap()).collect();
        assert!(delays.iter().all(|delay| (15..=45).contains(delay)), "{delays:?}");
        assert!(delays.len() > 20, "{delays:?}");
        assert!((15..=45).contains(&delay(&envoy, 429).unwrap()));
        for status in [200, 404, 500, 502, 504] {
            assert_eq!(delay(&envoy, status), None, "{status}");
        }
        assert_eq!(envoy.advance(SECOND).stat("burst_retry_after_added_total"), Some(201));
    }
}

#[test]
fn envoys_own_503_has_it_too() {
    let envoy = proxy(FULL, &Kube::new(), 6, r#","retry_after":{}"#);
    let seen = envoy.vms()[0].request(Request::get("/"), Route::istio("web", "shop").without_hosts());
    assert_eq!((seen.status(), seen.header(RETRY_AFTER).is_some()), (503, true));
}

#[test]
fn a_service_that_can_still_grow_or_has_what_it_wants_sets_no_delay() {
    for wanted in [1, 5] {
        let envoy = proxy(FULL, &Kube::new(), wanted, r#","retry_after":{}"#);
        assert_eq!(delay(&envoy, 503), None, "it wants {wanted} of 5 replicas");
    }
}

#[test]
fn what_the_upstream_says_stays() {
    let envoy = proxy(FULL, &Kube::new(), 10, r#","retry_after":{}"#);
    for own in ["1", "3600", "Fri, 31 Dec 1999 23:59:59 GMT"] {
        let seen = answer(&envoy, Response::status(503).header(RETRY_AFTER, own));
        assert_eq!(seen.header(RETRY_AFTER), Some(own));
    }
}

#[test]
fn a_stale_snapshot_sets_no_delay_whatever_the_burst_header_does() {
    for on_stale in ["drop", "keep", "mark"] {
        let kube = Kube::new();
        let more = format!(r#","retry_after":{{}},"on_stale":"{on_stale}""#);
        let envoy = proxy(FULL, &kube, 10, &more);
        for resource in ["horizontalpodautoscalers", "services", "deployments", "statefulsets"] {
            kube.fail(resource, || Answer::Unreachable);
        }
        envoy.advance(SECOND * 9);
        assert!(delay(&envoy, 503).is_some());
        envoy.advance(SECOND * 3);
        assert_eq!(delay(&envoy, 503), None, "on_stale: {on_stale}");
        kube.heal();
        envoy.advance(SECOND * 20).answer();
        assert!(delay(&envoy, 503).is_some());
    }
}

#[test]
fn a_dry_run_counts_and_changes_nothing() {
    let envoy = proxy(FULL, &Kube::new(), 10, r#","retry_after":{"dry_run":true}"#);
    assert_eq!(delay(&envoy, 503), None);
    assert_eq!(delay(&envoy, 200), None);
    envoy.advance(SECOND);
    assert_eq!(envoy.stat("burst_retry_after_dry_run_total"), Some(1));
    assert_eq!(envoy.stat("burst_retry_after_added_total"), Some(0));
}

#[test]
fn the_filters_own_503_keeps_its_own_delay() {
    let kube = Kube::new();
    let envoy = proxy(FULL, &kube, 10, r#","retry_after":{"min":"100s"}"#);
    for resource in ["horizontalpodautoscalers", "services", "deployments", "statefulsets"] {
        kube.fail(resource, || Answer::Unreachable);
    }
    envoy.advance(SECOND * 12);
    let own = envoy.vms()[0].request(Request::get("/burstmetrics/services"), Route::istio("web", "shop"));
    let delay = own.header(RETRY_AFTER).map(|delay| delay.parse::<u64>().unwrap());
    assert!(own.status() == 503 && delay < Some(100), "{delay:?}");
}

#[test]
fn a_response_of_a_full_and_limited_service_has_both_signals() {
    let envoy = proxy(FULL, &Kube::new(), 10, r#","retry_after":{},"degraded":{}"#);
    let refused = answer(&envoy, Response::status(503));
    assert_eq!(refused.header("x-envoy-degraded"), Some("true"));
    assert!(refused.header(RETRY_AFTER).is_some());
    let answered = answer(&envoy, Response::ok());
    assert_eq!(answered.header("x-envoy-degraded"), Some("true"));
    assert_eq!(answered.header(RETRY_AFTER), None);
}
