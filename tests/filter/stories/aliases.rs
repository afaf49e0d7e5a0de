//! Custom metrics under names of the user's choice: another adapter's metric of that name comes first.

use super::kube::Kube;
use super::metrics_apis::over_mutual_tls;
use super::reviews::yes;
use super::{SECOND, envoy, logged};
use crate::host::{Answer, By, FakeEnvoy, Request, Response, Seen, Vm};
use std::sync::{Arc, Mutex};

const CONFIGURATION: &str = r#"{"cluster":"kube_api","poll_interval":"1s","metrics_apis":{"filter_chain":"metrics","aliases":{"free_replicas":"burst_headroom"}}}"#;
const LIST: &str = "/apis/custom.metrics.k8s.io/v1beta2";
const METRIC: &str = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/services/web/free_replicas";

fn with_adapter() -> String {
    CONFIGURATION.replace(
        r#""aliases""#,
        r#""fallback":{"custom":{"cluster":"prometheus-adapter"}},"aliases""#,
    )
}

fn list(names: &[&str]) -> Answer {
    let one =
        |name: &&str| format!(r#"{{"name":"{name}","namespaced":true,"kind":"MetricValueList","verbs":["get"]}}"#);
    let all: Vec<_> = names.iter().map(one).collect();
    Response::json(format!(
        r#"{{"kind":"APIResourceList","resources":[{}]}}"#,
        all.join(",")
    ))
    .into()
}

/// A worker that has read the cluster, and what the other adapter answers. Every user may do anything.
fn synced(configuration: &str, listed: Answer) -> (FakeEnvoy, Vm, Arc<Mutex<Answer>>) {
    let (kube, listed) = (Kube::new(), Arc::new(Mutex::new(listed)));
    let adapter = listed.clone();
    let envoy = envoy(configuration, &kube)
        .cluster("prometheus-adapter")
        .kube(move |callout| match (callout.cluster.as_str(), callout.method()) {
            ("prometheus-adapter", _) => adapter.lock().unwrap().clone(),
            (_, "POST") => yes().into(),
            _ => kube.answer(callout),
        });
    let worker = envoy.worker();
    envoy.advance(2 * SECOND).answer();
    (envoy, worker, listed)
}

fn ask(worker: &Vm, path: &str) -> Seen {
    let route = over_mutual_tls().answering(Response::ok().body("theirs"));
    worker.request(Request::get(path).header("x-remote-user", "alice"), route)
}

#[test]
fn a_request_by_an_alias_is_answered_with_the_name_that_it_asked_for() {
    let (_envoy, worker, _) = synced(CONFIGURATION, list(&[]));
    let ours = ask(&worker, &METRIC.replace("free_replicas", "burst_headroom"));
    assert_eq!(ours.status(), 200, "{}", ours.text());
    let alias = ask(&worker, METRIC);
    assert_eq!(
        (alias.status(), alias.text()),
        (200, ours.text().replace("burst_headroom", "free_replicas").as_str())
    );
    assert!(ask(&worker, LIST).text().contains(r#""services/free_replicas""#));
}

#[test]
fn a_review_is_about_the_name_that_the_user_asked_for() {
    let configuration = CONFIGURATION.replace(r#""aliases""#, r#""authorization":"subject_access_review","aliases""#);
    let (_envoy, worker, _) = synced(&configuration, list(&[]));
    let request = Request::get(METRIC).header("x-remote-user", "alice");
    let stream = worker.open(request, over_mutual_tls());
    let callouts = worker.callouts();
    let reviewed = String::from_utf8(callouts[0].body.clone()).unwrap();
    assert!(
        reviewed.contains(r#""subresource":"free_replicas""#) && !reviewed.contains("burst_headroom"),
        "{reviewed}"
    );
    worker.answer();
    let seen = stream.finish();
    assert_eq!((seen.by, seen.status()), (By::Filter, 200));
}

#[test]
fn a_metric_of_the_other_adapter_replaces_an_alias_on_every_thread_and_the_log_says_so_once() {
    let (envoy, worker, listed) = synced(&with_adapter(), list(&["pods/free_replicas"]));
    let second = envoy.worker();
    envoy.advance(2 * SECOND);
    for worker in [&worker, &second] {
        let seen = ask(worker, METRIC);
        assert_eq!((seen.by, seen.text()), (By::Upstream, "theirs"));
        assert!(!ask(worker, LIST).text().contains("services/free_replicas"));
    }
    // An outage of the adapter changes nothing about it.
    *listed.lock().unwrap() = Answer::Unreachable;
    envoy.advance(40 * SECOND);
    assert_eq!(ask(&worker, METRIC).by, By::Upstream);
    *listed.lock().unwrap() = list(&["pods/free_replicas"]);
    envoy.advance(40 * SECOND);
    *listed.lock().unwrap() = list(&["pods/other"]);
    envoy.advance(40 * SECOND);
    for worker in [&worker, &second] {
        assert_eq!(ask(worker, METRIC).by, By::Filter);
        assert!(ask(worker, LIST).text().contains("services/free_replicas"));
    }
    let lines: Vec<_> = logged(&envoy)
        .into_iter()
        .filter(|line| line.contains("free_replicas"))
        .collect();
    assert_eq!(
        lines,
        [
            "metrics_apis.aliases.free_replicas is not used: the other adapter has a metric of that name, and serves it",
            "metrics_apis.aliases.free_replicas is used: the other adapter has no metric of that name any more",
        ]
    );
}
