//! Other adapters behind the metrics APIs: requests for their metrics are forwarded, and discovery lists the metrics of
//! both.

use super::kube::Kube;
use super::metrics_apis::over_mutual_tls;
use super::{SECOND, envoy, logged};
use crate::host::{Answer, By, Callout, FakeEnvoy, LogLine, Request, Response, Route, Seen, Vm};
use std::sync::{Arc, Mutex};

const CONFIGURATION: &str = r#"{"cluster":"kube_api","poll_interval":"1s","metrics_apis":{"filter_chain":"metrics","fallback":{"external":{"cluster":"keda"}}}}"#;

const THEIRS: &str = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue_length";
const OURS: &str = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/burst_headroom";
const LIST: &str = "/apis/external.metrics.k8s.io/v1beta1";

/// The other adapter. A test can change its answer.
#[derive(Clone)]
struct OtherAdapter(Arc<Mutex<Answer>>);

impl OtherAdapter {
    fn listing(names: &[&str]) -> Self {
        Self(Arc::new(Mutex::new(list(names))))
    }

    fn set_answer(&self, answer: impl Into<Answer>) {
        *self.0.lock().unwrap() = answer.into();
    }

    fn answer(&self, callout: &Callout) -> Answer {
        assert_eq!(
            (callout.method(), callout.path(), callout.authority()),
            ("GET", LIST, "metrics-adapter")
        );
        assert_eq!(
            callout.headers.first("x-remote-user"),
            Some(&b"system:burst-metrics"[..])
        );
        self.0.lock().unwrap().clone()
    }
}

fn list(names: &[&str]) -> Answer {
    let one = |name: &&str| {
        format!(r#"{{"name":"{name}","namespaced":true,"kind":"ExternalMetricValueList","verbs":["get"]}}"#)
    };
    let all: Vec<_> = names.iter().map(one).collect();
    Response::json(format!(
        r#"{{"kind":"APIResourceList","resources":[{}]}}"#,
        all.join(",")
    ))
    .into()
}

fn synced(configuration: &str, other: &OtherAdapter) -> (FakeEnvoy, Vm) {
    let (kube, other) = (Kube::new(), other.clone());
    let allowed = r#"{"kind":"SubjectAccessReview","status":{"allowed":true}}"#;
    let envoy = envoy(configuration, &kube)
        .cluster("keda")
        .kube(move |callout| match callout.cluster.as_str() {
            "keda" => other.answer(callout),
            _ if callout.method() == "POST" => Response::json(allowed).into(),
            _ => kube.answer(callout),
        });
    let worker = envoy.worker();
    envoy.advance(2 * SECOND).answer();
    (envoy, worker)
}

fn route() -> Route {
    let marked = Response::ok().header("x-burst", "theirs").body("queue");
    over_mutual_tls().answering(marked)
}

fn ask(worker: &Vm, path: &str) -> Seen {
    worker.request(Request::get(path).header("x-remote-user", "alice"), route())
}

#[test]
fn a_request_for_another_adapters_metric_is_forwarded_unchanged() {
    let (envoy, worker) = synced(CONFIGURATION, &OtherAdapter::listing(&[]));
    let seen = ask(&worker, THEIRS);
    assert_eq!(
        (seen.by, seen.text(), seen.header("x-burst")),
        (By::Upstream, "queue", Some("theirs"))
    );
    let ours = ask(&worker, OURS);
    assert_eq!((ours.by, ours.status()), (By::Filter, 200));
    let custom = ask(
        &worker,
        "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/pods/*/requests",
    );
    assert_eq!(
        (custom.by, custom.status()),
        (By::Filter, 404),
        "no adapter serves that group"
    );
    let anonymous = worker.request(Request::get(THEIRS), route());
    assert_eq!((anonymous.by, anonymous.status()), (By::Filter, 401));
    envoy.advance(SECOND);
    assert_eq!(envoy.stat("burst_fallback_request_total"), Some(1));
}

#[test]
fn discovery_lists_the_metrics_of_both_adapters_on_every_thread() {
    let other = OtherAdapter::listing(&["queue_length"]);
    let (envoy, worker) = synced(CONFIGURATION, &other);
    let second = envoy.worker();
    for worker in [&worker, &second] {
        let listed = ask(worker, LIST);
        assert!(
            listed.text().contains("queue_length") && listed.text().contains("burst_headroom"),
            "{}",
            listed.text()
        );
    }
    other.set_answer(list(&["queue_length", "lag"]));
    envoy.advance(32 * SECOND);
    assert!(
        [&worker, &second]
            .iter()
            .all(|worker| ask(worker, LIST).text().contains("lag"))
    );
    assert_eq!(envoy.stat("burst_fallback_list_ok_total"), Some(2));
}

#[test]
fn discovery_lists_our_metrics_alone_while_the_other_adapter_is_down_and_the_log_says_so() {
    let other = OtherAdapter::listing(&["queue_length"]);
    let (envoy, worker) = synced(CONFIGURATION, &other);
    other.set_answer(Answer::Unreachable);
    envoy.advance(91 * SECOND);
    let alone = ask(&worker, LIST);
    assert_eq!((alone.status(), alone.text().contains("queue_length")), (200, false));
    assert!(alone.text().contains("burst_headroom"));
    other.set_answer(list(&["queue_length"]));
    envoy.advance(10 * SECOND);
    assert!(ask(&worker, LIST).text().contains("queue_length"));
    let lines: Vec<_> = logged(&envoy)
        .into_iter()
        .filter(|line| line.contains("other adapter"))
        .collect();
    assert_eq!(
        lines,
        [
            format!("{LIST} lists this filter's metrics alone, because of the other adapter: it answered 503"),
            format!("the other adapter lists its metrics in {LIST} again"),
        ]
    );
    assert_eq!(envoy.stat("burst_fallback_list_failed_total"), Some(8));
}

#[test]
fn a_new_leader_lists_the_metrics_that_the_previous_one_discovered() {
    let other = OtherAdapter::listing(&["queue_length"]);
    let (envoy, worker) = synced(CONFIGURATION, &other);
    let second = envoy.worker();
    other.set_answer(Answer::Never);
    hand_over(&envoy, &worker, &second);
    assert!(ask(&second, LIST).text().contains("queue_length"));
}

#[test]
fn a_new_leader_does_not_repeat_the_log_lines_of_the_previous_one() {
    let other = OtherAdapter::listing(&[]);
    other.set_answer(Answer::Unreachable);
    let (envoy, worker) = synced(CONFIGURATION, &other);
    let second = envoy.worker();
    hand_over(&envoy, &worker, &second);
    let asked_twice = || envoy.stat("burst_fallback_list_failed_total") == Some(2);
    for _ in 0..60 {
        if asked_twice() {
            break;
        }
        envoy.advance(SECOND);
    }
    assert!(asked_twice());
    let lines = |line: &String| line.contains("lists this filter's metrics alone");
    assert_eq!(logged(&envoy).iter().filter(|line| lines(line)).count(), 1);
}

/// Kills the leader and waits until the other thread leads.
fn hand_over(envoy: &FakeEnvoy, leader: &Vm, next: &Vm) {
    leader.kill();
    let polls = |line: &LogLine| line.thread == next.thread() && line.text.starts_with("this thread polls");
    while !envoy.log().iter().any(polls) {
        envoy.advance(SECOND);
    }
}

#[test]
fn forwarded_requests_are_reviewed_first() {
    let configuration = CONFIGURATION.replace(r#""fallback""#, r#""authorization":"subject_access_review","fallback""#);
    let (_envoy, worker) = synced(&configuration, &OtherAdapter::listing(&[]));
    let stream = worker.open(Request::get(THEIRS).header("x-remote-user", "alice"), route());
    assert_eq!(worker.callouts().len(), 1);
    worker.answer();
    let seen = stream.finish();
    assert_eq!(
        (seen.by, seen.text(), seen.header("x-burst")),
        (By::Upstream, "queue", Some("theirs"))
    );
}
