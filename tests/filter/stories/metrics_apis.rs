//! The filter serves the metrics APIs on their own filter chain only.

use super::kube::Kube;
use super::{SECOND, envoy, logged};
use crate::host::{By, FakeEnvoy, Request, Route, Seen, Vm};

const CONFIGURATION: &str = r#"{"cluster":"kube_api","metrics_apis":{"filter_chain":"metrics"}}"#;

const DEMO: &str = r#"{"cluster":"kube_api","metrics_apis":{"filter_chain":"metrics","insecure_loopback_demo":true}}"#;

fn synced() -> (FakeEnvoy, Vm) {
    synced_with(CONFIGURATION)
}

fn synced_with(configuration: &str) -> (FakeEnvoy, Vm) {
    let envoy = envoy(configuration, &Kube::new());
    let worker = envoy.worker();
    envoy.advance(SECOND).answer();
    (envoy, worker)
}

/// A filter chain of that name, without TLS.
fn on_chain(chain: &str) -> Route {
    Route::istio("web", "shop").property(&["xds", "filter_chain_name"], chain)
}

/// The filter chain of the metrics APIs, with mutual TLS.
pub(super) fn over_mutual_tls() -> Route {
    on_chain("metrics").property(&["connection", "mtls"], [1])
}

/// Sends a request with mutual TLS to a filter chain of that name.
fn ask(worker: &Vm, chain: &str, request: Request) -> Seen {
    worker.request(request, on_chain(chain).property(&["connection", "mtls"], [1]))
}

fn by_user(path: &str) -> Request {
    Request::get(path).header("x-remote-user", "system:kube-aggregator")
}

#[test]
fn every_request_on_the_filter_chain_is_answered_by_the_filter() {
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
fn no_other_filter_chain_trusts_user_headers() {
    let (_envoy, worker) = synced();
    for chain in ["", "metrics2", "Metrics"] {
        let seen = ask(&worker, chain, by_user("/apis/custom.metrics.k8s.io/v1beta2"));
        assert!(matches!(seen.by, By::Upstream), "{chain}");
    }
    let endpoint = ask(&worker, "", by_user("/burstmetrics/services"));
    assert_eq!(endpoint.status(), 200, "other requests are answered as usual");
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

const LOOPBACK: &str = "127.0.0.1:6443";

/// Any host that reaches the listener can send these headers, so the filter trusts none of them.
#[test]
fn without_mutual_tls_no_user_header_is_trusted() {
    let plain = |address: &str| on_chain("metrics").property(&["destination", "address"], address);
    let (envoy, worker) = synced();
    for route in [
        on_chain("metrics"),
        plain("10.0.0.1:6443"),
        plain(LOOPBACK),
        plain(LOOPBACK).property(&["connection", "mtls"], [0]),
    ] {
        for path in ["/apis/custom.metrics.k8s.io/v1beta2", "/healthz", "/anything"] {
            let request = by_user(path).header("x-forwarded-for", "127.0.0.1");
            let seen = worker.request(request, route.clone());
            assert!(matches!(seen.by, By::Filter), "{path}");
            assert_eq!(
                (seen.status(), seen.header("content-type")),
                (403, Some("application/json"))
            );
            assert!(seen.text().contains("require a client certificate"), "{}", seen.text());
        }
    }
    assert_eq!(worker.request(by_user("/healthz"), over_mutual_tls()).status(), 200);
    envoy.advance(SECOND);
    assert_eq!(envoy.stat("burst_metrics_apis_insecure_total"), Some(12));
    assert_eq!(envoy.stat("burst_reply_403_total"), Some(12));
    let lines: Vec<_> = logged(&envoy)
        .into_iter()
        .filter(|line| line.contains("mutual TLS"))
        .collect();
    assert_eq!(
        lines,
        [
            "requests of the metrics APIs are refused, because they come to \"\" without mutual TLS: \
          let the listener of filter chain \"metrics\" require a client certificate"
        ]
    );
}

#[test]
fn user_headers_without_tls_are_trusted_on_a_loopback_address_only() {
    let plain = |address: &str| on_chain("metrics").property(&["destination", "address"], address);
    let (envoy, worker) = synced_with(DEMO);
    for (route, status) in [
        (plain(LOOPBACK), 200),
        (plain("[::1]:6443"), 200),
        (plain("10.0.0.1:6443"), 403),
        (on_chain("metrics"), 403),
        (over_mutual_tls(), 200),
    ] {
        let seen = worker.request(by_user("/healthz").header("x-forwarded-for", "127.0.0.1"), route);
        assert_eq!(seen.status(), status, "{}", seen.text());
    }
    envoy.advance(SECOND);
    assert_eq!(envoy.stat("burst_metrics_apis_insecure_total"), Some(2));
    assert_eq!(
        worker.request(Request::get("/healthz"), plain(LOOPBACK)).status(),
        401,
        "a request must name a user here too"
    );
}
