//! Reviews of requests for metrics: sent once and cached for a while. Without an answer, access is denied.

use super::kube::Kube;
use super::metrics_apis::over_mutual_tls;
use super::{SECOND, envoy, logged};
use crate::host::{Answer, By, Callout, FakeEnvoy, Request, Response, Route, Seen, Vm};
use burst_metrics_api::review::PATH;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const CONFIGURATION: &str = r#"{"cluster":"kube_api","poll_interval":"1s","metrics_apis":{"filter_chain":"metrics","authorization":"subject_access_review"}}"#;

const METRIC: &str = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/burst_headroom";

/// The API server's answer to every review, and the reviews that it received.
#[derive(Clone)]
struct ReviewServer(Arc<Mutex<ReviewState>>);

struct ReviewState {
    answer: Answer,
    received: Vec<String>,
}

impl ReviewServer {
    fn answering(answer: impl Into<Answer>) -> Self {
        let answer = answer.into();
        Self(Arc::new(Mutex::new(ReviewState {
            answer,
            received: vec![],
        })))
    }

    fn set_answer(&self, answer: impl Into<Answer>) {
        self.0.lock().unwrap().answer = answer.into();
    }

    fn answer(&self, callout: &Callout) -> Answer {
        assert_eq!((callout.method(), callout.path()), ("POST", PATH));
        let mut state = self.0.lock().unwrap();
        state.received.push(String::from_utf8(callout.body.clone()).unwrap());
        state.answer.clone()
    }

    /// The reviews received since the last call.
    fn received(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().received)
    }
}

pub(super) fn review(status: &str) -> Response {
    let body = format!(r#"{{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{status}}}"#);
    Response::status(201)
        .header("content-type", "application/json")
        .body(body)
}

pub(super) fn yes() -> Response {
    review(r#"{"allowed":true}"#)
}

fn no() -> Response {
    review(r#"{"allowed":false,"reason":"not today"}"#)
}

/// A worker that has read the cluster.
fn synced(server: &ReviewServer) -> (FakeEnvoy, Vm) {
    let (kube, server) = (Kube::new(), server.clone());
    let envoy = envoy(CONFIGURATION, &kube).kube(move |callout| match callout.method() {
        "POST" => server.answer(callout),
        _ => kube.answer(callout),
    });
    let worker = envoy.worker();
    envoy.advance(SECOND).answer();
    (envoy, worker)
}

fn route() -> Route {
    over_mutual_tls()
}

fn by(user: &str) -> Request {
    Request::get(METRIC).header("x-remote-user", user)
}

/// Sends a request, and lets the API server answer the review.
fn ask(worker: &Vm, request: Request) -> Seen {
    let stream = worker.open(request, route());
    worker.answer();
    stream.finish()
}

#[test]
fn an_allowed_user_is_answered_and_the_review_is_cached_for_ten_seconds() {
    let server = ReviewServer::answering(yes());
    let (envoy, worker) = synced(&server);
    let seen = ask(&worker, by("alice"));
    assert_eq!(
        (seen.by, seen.status(), seen.header("x-burst")),
        (By::Filter, 200, None)
    );
    assert!(seen.text().contains(r#""value":"4""#), "{}", seen.text());
    let [review_body] = &server.received()[..] else {
        panic!("one review")
    };
    assert!(
        review_body.contains(r#""verb":"list""#) && review_body.contains(r#""user":"alice""#),
        "{review_body}"
    );
    for _ in 0..9 {
        envoy.advance(SECOND);
        assert_eq!(worker.request(by("alice"), route()).status(), 200);
    }
    assert!(server.received().is_empty());
    envoy.advance(SECOND);
    assert_eq!(ask(&worker, by("alice")).status(), 200);
    assert_eq!(server.received().len(), 1);
    envoy.advance(SECOND);
    assert_eq!(envoy.stat("burst_review_allowed_total"), Some(2));
    assert_eq!(envoy.stat("burst_reply_200_total"), Some(11));
}

#[test]
fn a_denied_user_is_refused_and_the_review_is_cached_for_ten_seconds() {
    let server = ReviewServer::answering(no());
    let (envoy, worker) = synced(&server);
    let seen = ask(&worker, by("alice"));
    assert_eq!(seen.status(), 403);
    assert!(
        seen.text().contains("not today") && seen.text().contains(r#"User \"alice\" cannot list"#),
        "{}",
        seen.text()
    );
    server.set_answer(yes());
    assert_eq!(worker.request(by("alice"), route()).status(), 403);
    envoy.advance(10 * SECOND);
    assert_eq!(ask(&worker, by("alice")).status(), 200);
    assert_eq!(
        (server.received().len(), envoy.stat("burst_review_denied_total")),
        (2, Some(1))
    );
}

#[test]
fn a_different_user_group_or_selector_needs_a_different_review() {
    let server = ReviewServer::answering(yes());
    let (_envoy, worker) = synced(&server);
    let groups = |all: &[&str]| {
        all.iter()
            .fold(by("alice"), |request, group| request.header("x-remote-group", group))
    };
    let selects = Request::get(format!("{METRIC}?labelSelector=service%3Dweb")).header("x-remote-user", "alice");
    for request in [by("alice"), by("bob"), groups(&["a", "b"]), groups(&["a,b"]), selects] {
        assert_eq!(ask(&worker, request).status(), 200);
    }
    let received = server.received();
    assert_eq!(received.len(), 5);
    assert!(
        received[2].contains(r#""groups":["a","b","system:authenticated"]"#),
        "{}",
        received[2]
    );
    assert!(
        received[3].contains(r#""groups":["a,b","system:authenticated"]"#),
        "{}",
        received[3]
    );
    assert!(
        received[4].contains(r#"{"key":"service","operator":"In","values":["web"]}"#),
        "{}",
        received[4]
    );
}

#[test]
fn concurrent_identical_requests_share_one_review() {
    let server = ReviewServer::answering(yes());
    let (_envoy, worker) = synced(&server);
    let streams: Vec<_> = (0..5).map(|_| worker.open(by("alice"), route())).collect();
    assert_eq!(worker.callouts().len(), 1);
    worker.answer();
    assert!(streams.into_iter().all(|stream| stream.finish().status() == 200));
    assert_eq!(server.received().len(), 1);
}

#[test]
fn without_an_answer_every_user_is_refused() {
    let server = ReviewServer::answering(Answer::Unreachable);
    let (envoy, worker) = synced(&server);
    let allowing = || yes().body(r#"{"kind":"SubjectAccessReview","status":{"allowed":true"#);
    let answers: [Answer; 7] = [
        Answer::Unreachable,
        Answer::Timeout,
        Answer::Reset,
        Response::status(500).into(),
        Response::status(403).into(),
        Response::json("<html>").into(),
        allowing().into(),
    ];
    for answer in answers {
        server.set_answer(answer.clone());
        let seen = ask(&worker, by("alice"));
        assert_eq!((seen.status(), seen.header("retry-after")), (500, None), "{answer:?}");
        assert!(seen.text().contains(r#""reason":"InternalError""#), "{}", seen.text());
    }
    server.set_answer(yes());
    assert_eq!(ask(&worker, by("alice")).status(), 200, "a failure is not cached");
    envoy.advance(SECOND);
    assert_eq!(envoy.stat("burst_review_failed_total"), Some(7));
    let refused: Vec<_> = logged(&envoy)
        .into_iter()
        .filter(|line| line.contains("cannot be authorized"))
        .collect();
    assert_eq!(refused.len(), 6, "malformed twice is one line: {refused:#?}");
    assert_eq!(
        logged(&envoy).last().unwrap(),
        "the API server authorizes requests of the metrics APIs again"
    );
}

#[test]
fn a_review_that_is_never_answered_ends_at_the_timeout() {
    let server = ReviewServer::answering(Answer::Never);
    let (envoy, worker) = synced(&server);
    let stream = worker.open(by("alice"), route());
    envoy.advance(5 * SECOND);
    assert_eq!(stream.finish().status(), 500);
}

#[test]
fn a_review_that_cannot_be_sent_refuses_the_request_at_once() {
    let configuration = CONFIGURATION.replace("kube_api", "nowhere");
    let envoy = envoy(&configuration, &Kube::new());
    let worker = envoy.worker();
    let seen = worker.request(by("alice"), route());
    assert_eq!(seen.status(), 500);
    assert!(
        seen.text().contains("Envoy has no cluster of that name (nowhere)"),
        "{}",
        seen.text()
    );
}

/// The review is sent anyway, and the next client can use its result.
#[test]
fn a_client_that_disconnects_affects_no_other_client() {
    let server = ReviewServer::answering(yes());
    let (_envoy, worker) = synced(&server);
    let (first, second) = (worker.open(by("alice"), route()), worker.open(by("alice"), route()));
    first.abandon();
    worker.answer();
    assert_eq!(second.finish().status(), 200);
    let alone = worker.open(by("bob"), route());
    alone.abandon();
    worker.answer();
    assert_eq!(worker.request(by("bob"), route()).status(), 200);
    assert_eq!(server.received().len(), 2);
}

/// The wake queue only makes reviews faster. Without it, the next tick sends them.
#[test]
fn a_review_waits_for_the_next_tick_where_the_wake_queue_is_missing() {
    let server = ReviewServer::answering(yes());
    let (envoy, worker) = synced(&server);
    let other = envoy.worker();
    worker.before_write("ids", move || {
        other.tick();
    });
    let stream = worker.open(by("alice"), route());
    assert!(server.received().is_empty() && worker.callouts().is_empty());
    envoy.advance(SECOND);
    assert_eq!(stream.finish().status(), 200);
    assert_eq!(ask(&worker, by("bob")).status(), 200);
}

#[test]
fn system_masters_and_health_checks_need_no_review_and_anonymous_requests_are_refused() {
    let server = ReviewServer::answering(no());
    let (_envoy, worker) = synced(&server);
    let aggregator = by("system:kube-aggregator").header("x-remote-group", "system:masters");
    assert_eq!(worker.request(aggregator, route()).status(), 200);
    for path in ["/healthz", "/livez", "/readyz"] {
        let request = Request::get(path).header("x-remote-user", "probe");
        assert_eq!(worker.request(request, route()).status(), 200, "{path}");
    }
    assert_eq!(worker.request(Request::get("/readyz"), route()).status(), 401);
    assert!(server.received().is_empty());
    let discovery = Request::get("/apis").header("x-remote-user", "alice");
    assert_eq!(ask(&worker, discovery).status(), 403);
}

/// A new configuration starts with an empty cache, and the old one finishes the reviews that it started.
#[test]
fn each_configuration_has_its_own_reviews() {
    let server = ReviewServer::answering(yes());
    let (_envoy, worker) = synced(&server);
    let old = worker.root();
    let stream = worker.open(by("alice"), route());
    worker.configure(CONFIGURATION.replace("1s", "2s")).unwrap();
    worker.answer();
    assert_eq!(stream.finish().status(), 200);
    worker.retire(old);
    assert_eq!(ask(&worker, by("alice")).status(), 200);
    assert_eq!(server.received().len(), 2);
}

#[test]
fn without_reviews_configured_no_review_is_sent() {
    let kube = Kube::new();
    let envoy = envoy(&CONFIGURATION.replace("subject_access_review", "api_server"), &kube);
    let worker = envoy.worker();
    envoy.advance(SECOND).answer();
    assert_eq!(worker.request(by("alice"), route()).status(), 200);
    assert_eq!(envoy.advance(Duration::ZERO).stat("burst_review_failed_total"), Some(0));
}
