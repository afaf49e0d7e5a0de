//! What holds for the objects of an answer holds for those of a stream: marks, skipped objects, excluded lists, and parts.

use super::proxy::{Proxy, at, fresh};
use super::server::Fate;
use crate::api::{Api, KINDS, object};
use burst_model::kube::{ParseDecision, ParseGuard};
use burst_model::snapshot::Snapshot;
use burst_model::sync::scheduler::SourceId;
use std::ops::Range;
use std::time::Duration;

const HPAS: SourceId = SourceId(0);
const DEPLOYMENTS: SourceId = SourceId(2);

fn streaming() -> (Api, Proxy) {
    let mut api = Api::default();
    (0..5).for_each(|name| (0..KINDS.len()).for_each(|kind| api.put(kind, name, 1)));
    let mut proxy = Proxy::new("auto");
    run(&mut proxy, &api, 0..3);
    (api, proxy)
}

fn run(proxy: &mut Proxy, api: &Api, seconds: Range<u64>) {
    seconds.for_each(|second| proxy.second(api, at(second)));
}

/// A change of an HPA, as an event.
fn event(name: &str, version: usize, replicas: u32) -> String {
    let spec = format!(
        r#""spec":{{"scaleTargetRef":{{"apiVersion":"apps/v1","kind":"Deployment","name":"{name}"}},"maxReplicas":9}},"status":{{"currentReplicas":{replicas}}}"#
    );
    format!(
        "{{\"type\":\"MODIFIED\",\"object\":{}}}\n",
        object(name, version, &spec)
    )
}

/// Writes down what is marked.
#[derive(Default)]
struct Guard(Vec<&'static str>);

impl ParseGuard for Guard {
    fn begin(&mut self, _: &str) -> ParseDecision {
        self.0.push("begin");
        ParseDecision::Parse
    }

    fn end(&mut self) {
        self.0.push("end");
    }
}

fn deliver(proxy: &mut Proxy, body: &str, guard: &mut Guard) {
    let stream = proxy
        .responses
        .iter()
        .find(|response| response.id == HPAS)
        .unwrap()
        .stream;
    let now = at(3);
    let effects = proxy.leader.on_chunk(HPAS, stream, body.as_bytes(), guard, now, 0);
    proxy.apply(effects, now);
}

#[test]
fn each_object_is_marked_before_it_is_parsed_and_no_mark_stays() {
    let (_, mut proxy) = streaming();
    let mut guard = Guard::default();
    let body = event("n1", 90, 3) + &event("n2", 91, 3);
    let half = body.len() - 20;
    deliver(&mut proxy, &body[..half], &mut guard);
    assert_eq!(
        guard.0.iter().filter(|call| **call == "begin").count(),
        1,
        "half an object is not parsed"
    );
    deliver(&mut proxy, &body[half..], &mut guard);
    assert_eq!(guard.0.iter().filter(|call| **call == "begin").count(), 2);
    assert_eq!(guard.0.last(), Some(&"end"));
    proxy.settle(at(4));
    assert_eq!((proxy.value(1), proxy.leader.next_due().is_some()), (Some(3), true));
}

#[test]
fn an_object_that_must_not_be_parsed_is_kept_until_it_may_be_and_then_read_again() {
    let (mut api, mut proxy) = streaming();
    proxy.unparsed = Some(r#""n1","resourceVersion""#);
    api.put(0, 1, 4);
    proxy.arrive(&api, at(3));
    assert_eq!(proxy.value(1), Some(1), "its last version");
    assert!(
        proxy
            .log
            .iter()
            .any(|line| line.starts_with("keeping the last version")),
        "{:?}",
        proxy.log
    );
    proxy.checkpoint.clear();
    proxy.requests.clear();
    run(&mut proxy, &api, 4..45);
    assert!(proxy.checkpoint.is_empty(), "a successor could not know that it is old");
    // The set of objects that may be parsed changes. The stream does not bring the object again.
    proxy.unparsed = None;
    proxy.leader.requeue_skipped();
    run(&mut proxy, &api, 45..48);
    assert_eq!(proxy.closed.len(), 1);
    assert_eq!(
        (proxy.requests.len(), proxy.value(1)),
        (1, Some(4)),
        "{:?}",
        proxy.requests
    );
    assert_eq!(proxy.content(), fresh(&api));
}

#[test]
fn a_large_chunk_is_read_in_parts() {
    let (_, mut proxy) = streaming();
    let body: String = (0..1_000).map(|n| event(&format!("x{n:04}"), 100 + n, 2)).collect();
    let mut guard = Guard::default();
    deliver(&mut proxy, &body, &mut guard);
    assert!(guard.0.len() <= 300, "{} objects in one call", guard.0.len());
    assert!(proxy.leader.is_busy() && !proxy.leader.is_idle(at(3)));
    proxy.settle(at(3));
    let due = proxy.next_due().unwrap_or(at(4));
    proxy.advance(due.max(at(4)));
    let snapshot = Snapshot::open(proxy.snapshot.clone()).unwrap();
    assert_eq!(snapshot.section("hpas").unwrap().len(), 1_005);
}

#[test]
fn a_list_that_fails_alone_is_excluded_while_the_others_stream() {
    let (api, mut proxy) = streaming();
    for response in &mut proxy.responses {
        if response.id == DEPLOYMENTS {
            response.fate = Fate::Break;
        }
    }
    proxy.fate = Fate::Status(500);
    run(&mut proxy, &api, 3..80);
    let excluded = proxy
        .log
        .iter()
        .filter(|line| line.contains("excluding it from the snapshot"));
    assert_eq!(excluded.count(), 1, "{:?}", proxy.log);
    assert!(proxy.age(at(80)) <= Duration::from_secs(28), "the others do not age");
    proxy.fate = Fate::Fine;
    run(&mut proxy, &api, 80..120);
    assert_eq!(proxy.content(), fresh(&api));
}
