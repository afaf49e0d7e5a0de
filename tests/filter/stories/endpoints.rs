//! `/burstmetrics`.

use super::kube::Kube;
use super::{EVERY_SECOND, SECOND, envoy};
use crate::host::{By, FakeEnvoy, Request, Route, Seen, Vm};
use std::time::Duration;

fn synced() -> (FakeEnvoy, Vm) {
    let envoy = envoy(EVERY_SECOND, &Kube::new());
    let worker = envoy.worker();
    envoy.advance(SECOND).answer();
    (envoy, worker)
}

fn ask(worker: &Vm, request: Request) -> Seen {
    worker.request(request, Route::istio("web", "shop"))
}

#[test]
fn an_answer_comes_from_the_proxy_and_carries_no_burst_header() {
    let (_envoy, worker) = synced();
    let seen = ask(&worker, Request::get("/burstmetrics/services/"));
    assert!(matches!(seen.by, By::Filter));
    assert_eq!(seen.header("content-type"), Some("application/json; charset=utf-8"));
    assert_eq!(
        seen.text(),
        "{\n    \"shop/web\": \"service=shop/web, current-load=1, target-load=4, max-load=5\"\n}\n"
    );
    assert_eq!(
        seen.header("x-burst"),
        None,
        "the filter's own reply has no header, although the route's Service has one"
    );
}

#[test]
fn a_matching_etag_is_answered_without_a_body() {
    let (_envoy, worker) = synced();
    let first = ask(&worker, Request::get("/burstmetrics/services"));
    let tag = first.header("etag").unwrap();
    let again = ask(
        &worker,
        Request::get("/burstmetrics/services").header("if-none-match", tag),
    );
    assert_eq!((again.status(), again.body()), (304, &b""[..]));
}

#[test]
fn a_browser_gets_the_page_only_if_it_is_configured() {
    let browse = || Request::get("/burstmetrics/").header("accept", "text/html,*/*;q=0.8");
    let (_envoy, worker) = synced();
    assert_eq!(ask(&worker, browse()).status(), 404, "it is off by default");

    let configuration = r#"{"cluster":"kube_api","endpoints":{"page":true}}"#;
    let envoy = envoy(configuration, &Kube::new());
    let worker = envoy.worker();
    let page = ask(&worker, browse());
    assert!(matches!(page.by, By::Filter));
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(page.text().starts_with("<!DOCTYPE html>"));
    assert!(page.header("content-security-policy").is_some());
    assert_eq!(page.header("x-burst"), None);
    let text = ask(&worker, Request::get("/burstmetrics/").header("accept", "*/*"));
    assert_eq!(text.status(), 404, "curl gets what it got before");
}

#[test]
fn requests_outside_the_prefix_go_to_the_upstream() {
    let (_envoy, worker) = synced();
    for path in ["/", "/burstmetric", "/burstmetricsx", "/a/burstmetrics/services"] {
        assert!(matches!(ask(&worker, Request::get(path)).by, By::Upstream), "{path}");
    }
}

#[test]
fn a_missing_or_stale_snapshot_is_a_503_with_the_reason() {
    let kube = Kube::new();
    let envoy = envoy(
        r#"{"cluster":"kube_api","sync":{"mode":"list"},"poll_interval":"2s","max_staleness":"10s"}"#,
        &kube,
    );
    let worker = envoy.worker();
    let unsynced = ask(&worker, Request::get("/burstmetrics/services"));
    assert_eq!((unsynced.status(), unsynced.header("retry-after")), (503, Some("2")));
    assert!(unsynced.text().starts_with("not synced yet"), "{}", unsynced.text());
    envoy.advance(SECOND).answer();
    assert_eq!(ask(&worker, Request::get("/burstmetrics/services")).status(), 200);
    for resource in ["horizontalpodautoscalers", "services", "deployments", "statefulsets"] {
        kube.fail(resource, || crate::host::Answer::Unreachable);
    }
    envoy.advance(Duration::from_secs(12)).answer();
    let stale = ask(&worker, Request::get("/burstmetrics/services"));
    assert_eq!(stale.status(), 503);
    assert!(stale.text().starts_with("too stale"), "{}", stale.text());
}
