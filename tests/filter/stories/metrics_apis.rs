//! The metrics APIs, on their filter chain and nowhere else.

use super::kube::Kube;
use super::{SECOND, envoy};
use crate::host::{By, FakeEnvoy, Request, Route, Seen, Vm};

const CONFIGURATION: &str = r#"{"cluster":"kube_api","metrics_apis":{"filter_chain":"metrics"}}"#;

fn synced() -> (FakeEnvoy, Vm) {
    let envoy = envoy(CONFIGURATION, &Kube::new());
    let worker = envoy.worker();
    envoy.advance(SECOND).answer();
    (envoy, worker)
}

/// Asks on a filter chain of that name.
fn ask(worker: &Vm, chain: &str, request: Request) -> Seen {
    let route = Route::istio("web", "shop").property(&["xds", "filter_chain_name"], chain);
    worker.request(request, route)
}

fn by_user(path: &str) -> Request {
    Request::get(path).header("x-remote-user", "system:kube-aggregator")
}

#[test]
fn every_request_on_the_filter_chain_is_answered_there() {
    let (_envoy, worker) = synced();
    for (path, status) in [
        ("/apis/custom.metrics.k8s.io/v1beta2", 200),
        ("/apis/external.metrics.k8s.io/v1beta1", 200),
        ("/healthz", 200),
        ("/burstmetrics/services", 404),
        ("/anything", 404),
    ] {
        let seen = ask(&worker, "metrics", by_user(path));
        assert!(matches!(seen.by, By::Filter), "{path}");
        assert_eq!((seen.status(), seen.header("x-burst")), (status, None), "{path}");
    }
}

#[test]
fn no_other_filter_chain_believes_a_user() {
    let (_envoy, worker) = synced();
    for chain in ["", "metrics2", "Metrics"] {
        let seen = ask(&worker, chain, by_user("/apis/custom.metrics.k8s.io/v1beta2"));
        assert!(matches!(seen.by, By::Upstream), "{chain}");
    }
    let endpoint = ask(&worker, "", by_user("/burstmetrics/services"));
    assert_eq!(endpoint.status(), 200, "and what it does otherwise, it goes on doing");
}

#[test]
fn a_request_without_a_user_is_unauthorized() {
    let (envoy, worker) = synced();
    for request in [
        Request::get("/healthz"),
        Request::get("/apis").header("x-remote-user", ""),
    ] {
        assert_eq!(ask(&worker, "metrics", request).status(), 401);
    }
    envoy.advance(SECOND);
    assert_eq!(envoy.stat("burst_reply_401_total"), Some(2));
}
