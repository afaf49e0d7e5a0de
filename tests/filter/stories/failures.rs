//! Failures of the API: the filter counts them, logs each once with advice, and serves on.

use super::kube::{Kube, list};
use super::{EVERY_SECOND, SECOND, envoy, logged};
use crate::host::{Answer, Response};
use std::time::Duration;

const HPAS: &str = "horizontalpodautoscalers";

fn status(code: u16, message: &str) -> Response {
    let body =
        format!(r#"{{"kind":"Status","apiVersion":"v1","status":"Failure","message":"{message}","code":{code}}}"#);
    Response::status(code)
        .header("content-type", "application/json")
        .body(body)
}

#[test]
fn each_failure_has_its_counter_and_log_line_and_the_last_values_are_still_served() {
    type Fault = (&'static str, fn() -> Answer, &'static str);
    let faults: [Fault; 13] = [
        ("unreachable", || Answer::Unreachable, "check the cluster's address"),
        ("timeout", || Answer::Timeout, "raise `request_timeout`"),
        ("cut", || Answer::Reset, "smaller pages are tried"),
        ("unauthorized", || status(401, "Unauthorized").into(), "check the token"),
        (
            "forbidden",
            || status(403, "forbidden").into(),
            "verb list on horizontalpodautoscalers.autoscaling",
        ),
        (
            "not_found",
            || status(404, "not found").into(),
            "horizontalpodautoscalers.autoscaling v2",
        ),
        ("expired", || status(410, "too old").into(), "read again from its start"),
        ("throttled", || status(429, "slow").into(), "asking again later"),
        ("server_error", || status(500, "etcd").into(), "asking again later"),
        ("server_error", || status(503, "starting").into(), "asking again later"),
        (
            "malformed",
            || Response::status(200).body("<html>").into(),
            "nothing stands in between",
        ),
        (
            "malformed",
            || Response::json(list("services", "", "")).into(),
            "nothing stands in between",
        ),
        (
            "malformed",
            || Response::json(&list(HPAS, "", "")[..20]).into(),
            "nothing stands in between",
        ),
    ];
    for (outcome, fault, advice) in faults {
        let kube = Kube::new();
        let envoy = envoy(EVERY_SECOND, &kube);
        let worker = envoy.worker();
        envoy.advance(SECOND).answer();
        kube.fail(HPAS, fault);
        envoy.advance(Duration::from_secs(20)).answer();
        assert!(
            envoy.stat(&format!("burst_poll_{outcome}_total")).unwrap() > 0,
            "{outcome} is counted"
        );
        let lines = logged(&envoy);
        assert_eq!(lines.len(), 1, "{outcome}: {lines:?}");
        assert!(
            lines[0].starts_with("cannot list horizontalpodautoscalers.autoscaling: "),
            "{lines:?}"
        );
        assert!(lines[0].contains(advice), "{lines:?}");
        assert!(
            worker.response("web.shop").header("x-burst").is_some(),
            "{outcome}: the last values are served"
        );
        kube.heal();
        kube.scale("shop/web", 4);
        envoy.advance(Duration::from_secs(31)).answer();
        assert!(
            worker
                .response("web.shop")
                .header("x-burst")
                .unwrap()
                .contains("current-load=4"),
            "{outcome}"
        );
        assert_eq!(
            logged(&envoy)[1..],
            ["listing horizontalpodautoscalers.autoscaling works again"],
            "{outcome}"
        );
    }
}

#[test]
fn a_failing_api_is_requested_less_and_less_often() {
    let kube = Kube::new();
    let envoy = envoy(EVERY_SECOND, &kube);
    let _worker = envoy.worker();
    kube.fail(HPAS, || Answer::Unreachable);
    let asked = || {
        envoy.advance(Duration::from_secs(60)).answer();
        kube.take_requests().iter().filter(|path| path.contains(HPAS)).count()
    };
    let (first, second, third) = (asked(), asked(), asked());
    assert!((5..=15).contains(&first), "{first}");
    assert!(
        (2..=5).contains(&second) && (2..=5).contains(&third),
        "{second}, {third}"
    );
}

#[test]
fn retry_after_is_respected() {
    let kube = Kube::new();
    let envoy = envoy(EVERY_SECOND, &kube);
    let _worker = envoy.worker();
    kube.fail(HPAS, || status(429, "slow").header("retry-after", "40"));
    envoy.advance(Duration::from_secs(40)).answer();
    assert_eq!(
        kube.take_requests().iter().filter(|path| path.contains(HPAS)).count(),
        1
    );
}

#[test]
fn an_answer_too_large_for_envoy_is_requested_in_smaller_pages() {
    let kube = (0..40).fold(Kube::default(), |kube, n| kube.with(&format!("shop/web-{n}"), 1, 5));
    let configuration = r#"{"cluster":"kube_api","sync":{"mode":"list"},"poll_interval":"1s","page_size":64}"#;
    let envoy = envoy(configuration, &kube).body_limit(4_000);
    let worker = envoy.worker();
    envoy.advance(Duration::from_secs(20)).answer();
    assert!(worker.response("web-39.shop").header("x-burst").is_some());
    let asked = kube.take_requests();
    assert!(asked.iter().any(|path| path.contains("limit=16")), "{asked:?}");
}

#[test]
fn one_malformed_object_excludes_only_itself() {
    let kube = Kube::new();
    let envoy = envoy(EVERY_SECOND, &kube);
    let worker = envoy.worker();
    kube.fail("services", || {
        let good = r#"{"metadata":{"name":"web","namespace":"shop"},"spec":{"selector":{"app":"web"}}}"#;
        let bad = r#"{"metadata":{"name":"bad","namespace":"shop"},"spec":{"selector":"app=web"}}"#;
        Response::json(list("services", "", &format!("{bad},{good}")))
    });
    envoy.advance(Duration::from_secs(5)).answer();
    assert!(worker.response("web.shop").header("x-burst").is_some());
    assert_eq!(envoy.stat("burst_bad_objects"), Some(1));
    let lines = logged(&envoy);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("excluded Service shop/bad: "), "{lines:?}");
}

#[test]
fn a_missing_envoy_cluster_is_logged_and_retried() {
    let kube = Kube::new();
    let without_hosts = crate::host::FakeEnvoy::new(super::FULL)
        .config(EVERY_SECOND)
        .cluster_without_hosts("kube_api");
    let _worker = without_hosts.worker();
    without_hosts.advance(Duration::from_secs(5));
    assert!(without_hosts.stat("burst_poll_not_sent_total").unwrap() > 0);
    assert!(logged(&without_hosts)[0].contains("the cluster has no host that can be reached (kube_api)"));
    let wrong = envoy(r#"{"cluster":"nowhere"}"#, &kube);
    let _worker = wrong.worker();
    wrong.advance(SECOND);
    assert!(
        logged(&wrong)[0].contains("Envoy has no cluster of that name (nowhere)"),
        "{:?}",
        logged(&wrong)
    );
}

#[test]
fn a_stale_snapshot_removes_the_header_and_a_fresh_one_restores_it() {
    let kube = Kube::new();
    let envoy = envoy(
        r#"{"cluster":"kube_api","sync":{"mode":"list"},"poll_interval":"1s","max_staleness":"10s"}"#,
        &kube,
    );
    let worker = envoy.worker();
    envoy.advance(SECOND).answer();
    kube.fail(HPAS, || Answer::Timeout);
    envoy.advance(Duration::from_secs(10)).answer();
    assert!(worker.response("web.shop").header("x-burst").is_some());
    envoy.advance(Duration::from_secs(2)).answer();
    assert!(worker.response("web.shop").header("x-burst").is_none());
    kube.heal();
    envoy.advance(Duration::from_secs(31)).answer();
    assert!(worker.response("web.shop").header("x-burst").is_some());
    assert!(envoy.stat("burst_header_absent_stale_total").unwrap() > 0);
}
