//! Reviews of requests for metrics: asked once, kept for a while, and no permission where nobody answers.

use super::kube::Kube;
use super::metrics_apis::over_mutual_tls;
use super::{SECOND, envoy, logged};
use crate::host::{Answer, By, Callout, FakeEnvoy, Request, Response, Route, Seen, Vm};
use burst_metrics_api::review::PATH;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const CONFIGURATION: &str = r#"{"cluster":"kube_api","poll_interval":"1s","metrics_apis":{"filter_chain":"metrics","authorization":"subject_access_review"}}"#;

const METRIC: &str = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/burst_headroom";

/// What the API server says of every user, and what it was asked.
#[derive(Clone)]
struct Judge(Arc<Mutex<Bench>>);

struct Bench {
    answer: Answer,
    asked: Vec<String>,
}

impl Judge {
    fn saying(answer: impl Into<Answer>) -> Self {
        let answer = answer.into();
        Self(Arc::new(Mutex::new(Bench { answer, asked: vec![] })))
    }

    fn say(&self, answer: impl Into<Answer>) {
        self.0.lock().unwrap().answer = answer.into();
    }

    fn answer(&self, callout: &Callout) -> Answer {
        assert_eq!((callout.method(), callout.path()), ("POST", PATH));
        let mut bench = self.0.lock().unwrap();
        bench.asked.push(String::from_utf8(callout.body.clone()).unwrap());
        bench.answer.clone()
    }

    /// The questions since the last time.
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().asked)
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

/// A worker that knows the cluster.
fn synced(judge: &Judge) -> (FakeEnvoy, Vm) {
    let (kube, judge) = (Kube::new(), judge.clone());
    let envoy = envoy(CONFIGURATION, &kube).kube(move |callout| match callout.method() {
        "POST" => judge.answer(callout),
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

/// Asks, and lets the API server answer whatever it is asked about it.
fn ask(worker: &Vm, request: Request) -> Seen {
    let stream = worker.open(request, route());
    worker.answer();
    stream.finish()
}

#[test]
fn who_may_is_answered_and_is_not_asked_about_again_for_ten_seconds() {
    let judge = Judge::saying(yes());
    let (envoy, worker) = synced(&judge);
    let seen = ask(&worker, by("alice"));
    assert_eq!(
        (seen.by, seen.status(), seen.header("x-burst")),
        (By::Filter, 200, None)
    );
    assert!(seen.text().contains(r#""value":"4""#), "{}", seen.text());
    let [question] = &judge.asked()[..] else {
        panic!("one question")
    };
    assert!(
        question.contains(r#""verb":"list""#) && question.contains(r#""user":"alice""#),
        "{question}"
    );
    for _ in 0..9 {
        envoy.advance(SECOND);
        assert_eq!(worker.request(by("alice"), route()).status(), 200);
    }
    assert!(judge.asked().is_empty());
    envoy.advance(SECOND);
    assert_eq!(ask(&worker, by("alice")).status(), 200);
    assert_eq!(judge.asked().len(), 1);
    envoy.advance(SECOND);
    assert_eq!(envoy.stat("burst_review_allowed_total"), Some(2));
    assert_eq!(envoy.stat("burst_reply_200_total"), Some(11));
}

#[test]
fn who_may_not_is_told_so_for_ten_seconds_too() {
    let judge = Judge::saying(no());
    let (envoy, worker) = synced(&judge);
    let seen = ask(&worker, by("alice"));
    assert_eq!(seen.status(), 403);
    assert!(
        seen.text().contains("not today") && seen.text().contains(r#"User \"alice\" cannot list"#),
        "{}",
        seen.text()
    );
    judge.say(yes());
    assert_eq!(worker.request(by("alice"), route()).status(), 403);
    envoy.advance(10 * SECOND);
    assert_eq!(ask(&worker, by("alice")).status(), 200);
    assert_eq!(
        (judge.asked().len(), envoy.stat("burst_review_denied_total")),
        (2, Some(1))
    );
}

#[test]
fn another_user_group_or_selector_is_another_question() {
    let judge = Judge::saying(yes());
    let (_envoy, worker) = synced(&judge);
    let groups = |all: &[&str]| {
        all.iter()
            .fold(by("alice"), |request, group| request.header("x-remote-group", group))
    };
    let selects = Request::get(format!("{METRIC}?labelSelector=service%3Dweb")).header("x-remote-user", "alice");
    for request in [by("alice"), by("bob"), groups(&["a", "b"]), groups(&["a,b"]), selects] {
        assert_eq!(ask(&worker, request).status(), 200);
    }
    let asked = judge.asked();
    assert_eq!(asked.len(), 5);
    assert!(
        asked[2].contains(r#""groups":["a","b","system:authenticated"]"#),
        "{}",
        asked[2]
    );
    assert!(
        asked[3].contains(r#""groups":["a,b","system:authenticated"]"#),
        "{}",
        asked[3]
    );
    assert!(
        asked[4].contains(r#"{"key":"service","operator":"In","values":["web"]}"#),
        "{}",
        asked[4]
    );
}

#[test]
fn those_who_ask_the_same_at_once_wait_for_one_answer() {
    let judge = Judge::saying(yes());
    let (_envoy, worker) = synced(&judge);
    let streams: Vec<_> = (0..5).map(|_| worker.open(by("alice"), route())).collect();
    assert_eq!(worker.callouts().len(), 1);
    worker.answer();
    assert!(streams.into_iter().all(|stream| stream.finish().status() == 200));
    assert_eq!(judge.asked().len(), 1);
}

#[test]
fn where_nobody_answers_nobody_may() {
    let judge = Judge::saying(Answer::Unreachable);
    let (envoy, worker) = synced(&judge);
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
        judge.say(answer.clone());
        let seen = ask(&worker, by("alice"));
        assert_eq!((seen.status(), seen.header("retry-after")), (500, None), "{answer:?}");
        assert!(seen.text().contains(r#""reason":"InternalError""#), "{}", seen.text());
    }
    judge.say(yes());
    assert_eq!(ask(&worker, by("alice")).status(), 200, "no failure is kept");
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
fn a_question_that_is_never_answered_ends_at_the_timeout() {
    let judge = Judge::saying(Answer::Never);
    let (envoy, worker) = synced(&judge);
    let stream = worker.open(by("alice"), route());
    envoy.advance(5 * SECOND);
    assert_eq!(stream.finish().status(), 500);
}

#[test]
fn a_question_that_cannot_be_sent_is_answered_at_once() {
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

/// What is asked is asked, and the next one need not wait for it.
#[test]
fn a_client_that_goes_away_takes_nobody_along() {
    let judge = Judge::saying(yes());
    let (_envoy, worker) = synced(&judge);
    let (first, second) = (worker.open(by("alice"), route()), worker.open(by("alice"), route()));
    first.abandon();
    worker.answer();
    assert_eq!(second.finish().status(), 200);
    let alone = worker.open(by("bob"), route());
    alone.abandon();
    worker.answer();
    assert_eq!(worker.request(by("bob"), route()).status(), 200);
    assert_eq!(judge.asked().len(), 2);
}

/// The bell is there to be quick; without it the question is sent all the same.
#[test]
fn a_question_waits_for_the_next_tick_where_the_bell_cannot_be_made() {
    let judge = Judge::saying(yes());
    let (envoy, worker) = synced(&judge);
    let other = envoy.worker();
    worker.before_write("ids", move || {
        other.tick();
    });
    let stream = worker.open(by("alice"), route());
    assert!(judge.asked().is_empty() && worker.callouts().is_empty());
    envoy.advance(SECOND);
    assert_eq!(stream.finish().status(), 200);
    assert_eq!(ask(&worker, by("bob")).status(), 200);
}

#[test]
fn masters_and_health_are_answered_without_a_question_and_nobody_is_not() {
    let judge = Judge::saying(no());
    let (_envoy, worker) = synced(&judge);
    let aggregator = by("system:kube-aggregator").header("x-remote-group", "system:masters");
    assert_eq!(worker.request(aggregator, route()).status(), 200);
    for path in ["/healthz", "/livez", "/readyz"] {
        let request = Request::get(path).header("x-remote-user", "probe");
        assert_eq!(worker.request(request, route()).status(), 200, "{path}");
    }
    assert_eq!(worker.request(Request::get("/readyz"), route()).status(), 401);
    assert!(judge.asked().is_empty());
    let discovery = Request::get("/apis").header("x-remote-user", "alice");
    assert_eq!(ask(&worker, discovery).status(), 403);
}

/// A new configuration begins with nothing known, and the old one ends what it began.
#[test]
fn each_configuration_has_its_own_reviews() {
    let judge = Judge::saying(yes());
    let (_envoy, worker) = synced(&judge);
    let old = worker.root();
    let stream = worker.open(by("alice"), route());
    worker.configure(CONFIGURATION.replace("1s", "2s")).unwrap();
    worker.answer();
    assert_eq!(stream.finish().status(), 200);
    worker.retire(old);
    assert_eq!(ask(&worker, by("alice")).status(), 200);
    assert_eq!(judge.asked().len(), 2);
}

#[test]
fn who_asks_without_reviews_is_not_asked_about() {
    let kube = Kube::new();
    let envoy = envoy(&CONFIGURATION.replace("subject_access_review", "api_server"), &kube);
    let worker = envoy.worker();
    envoy.advance(SECOND).answer();
    assert_eq!(worker.request(by("alice"), route()).status(), 200);
    assert_eq!(envoy.advance(Duration::ZERO).stat("burst_review_failed_total"), Some(0));
}
