//! Requests for `/burstmetrics` that wait for a change: when they are answered, and how many may wait.

use super::kube::Kube;
use super::{EVERY_SECOND, SECOND, envoy};
use crate::host::{Answer, By, FakeEnvoy, OpenStream, Request, Route, Seen, Vm};
use std::time::Duration;

const PATH: &str = "/burstmetrics/services";

/// The most requests that may wait in a VM.
const MAX_WAITING: usize = 256;

/// The most replies in one callback.
const MAX_NESTING: usize = 8;

/// The time from a tick of the worker to the next one of the leader.
const HALF: Duration = Duration::from_millis(500);

/// A proxy that has read the cluster: its leader on the main thread, and a worker.
fn synced(kube: &Kube) -> (FakeEnvoy, Vm) {
    let envoy = envoy(EVERY_SECOND, kube);
    envoy.main_thread().tick().answer();
    envoy.advance(HALF);
    let worker = envoy.worker();
    envoy.advance(2 * SECOND).answer();
    assert_eq!(get(&worker, PATH, None).status(), 200);
    (envoy, worker)
}

fn request(path: &str, tag: Option<&str>) -> Request {
    let request = Request::get(path);
    match tag {
        Some(tag) => request.header("if-none-match", tag),
        None => request,
    }
}

fn get(worker: &Vm, path: &str, tag: Option<&str>) -> Seen {
    worker.request(request(path, tag), Route::istio("web", "shop"))
}

fn etag(worker: &Vm) -> String {
    get(worker, PATH, None).header("etag").unwrap().to_owned()
}

fn open(worker: &Vm, wait: &str, tag: &str) -> OpenStream {
    let request = request(&format!("{PATH}?wait={wait}"), Some(tag));
    worker.open(request, Route::istio("web", "shop"))
}

fn answered(streams: &[OpenStream]) -> usize {
    streams.iter().filter(|stream| stream.is_answered()).count()
}

#[test]
fn a_waiting_request_is_answered_when_the_leader_publishes_a_change() {
    let kube = Kube::new();
    let (envoy, worker) = synced(&kube);
    let stream = open(&worker, "10s", &etag(&worker));
    envoy.advance(3 * SECOND).answer();
    assert!(!stream.is_answered(), "nothing changed");
    kube.scale("shop/web", 4);
    // The leader polls in its tick, and wakes the worker at once.
    envoy.advance(HALF).answer();
    let seen = stream.finish();
    assert_eq!((seen.by, seen.status()), (By::Filter, 200));
    assert!(seen.text().contains("current-load=4"), "{}", seen.text());
    assert_eq!(seen.header("etag"), Some(&*etag(&worker)));
    assert_eq!(seen.header("x-burst"), None, "it is no response of the route's Service");
    let confirmed = seen.header("x-burst-confirmed").unwrap();
    assert!(confirmed.ends_with(", waited=3500"), "{confirmed}");
    envoy.advance(SECOND);
    assert_eq!(envoy.stat("burst_long_poll_total"), Some(1));
    assert_eq!(envoy.stat("burst_reply_304_total"), Some(0));
}

#[test]
fn a_request_waits_no_longer_than_it_asks_for() {
    let (envoy, worker) = synced(&Kube::new());
    for (wait, millis) in [("2500ms", 2_500), ("10s", 10_000), ("30s", 30_000), ("1h", 30_000)] {
        let stream = open(&worker, wait, &etag(&worker));
        envoy.advance(Duration::from_millis(millis - 1)).answer();
        assert!(!stream.is_answered(), "{wait}");
        envoy.advance(Duration::from_millis(1)).answer();
        let seen = stream.finish();
        assert_eq!((seen.status(), seen.body()), (304, &b""[..]), "{wait}");
        let confirmed = seen.header("x-burst-confirmed").unwrap();
        assert!(confirmed.ends_with(&format!(", waited={millis}")), "{confirmed}");
    }
}

#[test]
fn a_snapshot_that_becomes_too_old_ends_the_wait() {
    let kube = Kube::new();
    let envoy = envoy(&EVERY_SECOND.replacen('{', r#"{"max_staleness":"5s","#, 1), &kube);
    let worker = envoy.worker();
    envoy.advance(SECOND).answer();
    let tag = etag(&worker);
    for resource in ["horizontalpodautoscalers", "services", "deployments", "statefulsets"] {
        kube.fail(resource, || Answer::Unreachable);
    }
    let stream = open(&worker, "30s", &tag);
    envoy.advance(8 * SECOND).answer();
    let seen = stream.finish();
    assert_eq!(seen.status(), 503);
    assert!(seen.text().starts_with("too stale"), "{}", seen.text());
}

#[test]
fn a_head_request_waits_too() {
    let kube = Kube::new();
    let (envoy, worker) = synced(&kube);
    let request = Request::new("HEAD", format!("{PATH}?wait=10s")).header("if-none-match", etag(&worker));
    let stream = worker.open(request, Route::to("somewhere"));
    assert!(!stream.is_answered());
    kube.scale("shop/web", 4);
    envoy.advance(SECOND).answer();
    assert_eq!(stream.finish().status(), 200);
}

#[test]
fn requests_over_the_limit_are_refused_at_once_and_those_that_leave_make_room() {
    let kube = Kube::new();
    let (envoy, worker) = synced(&kube);
    let tag = etag(&worker);
    for _ in 0..2 {
        let mut streams: Vec<_> = (0..4 * MAX_WAITING).map(|_| open(&worker, "30s", &tag)).collect();
        let refused = streams.split_off(MAX_WAITING);
        assert_eq!((answered(&streams), answered(&refused)), (0, refused.len()));
        for stream in refused {
            let seen = stream.finish();
            assert_eq!((seen.status(), seen.header("retry-after")), (429, Some("1")));
        }
        assert_eq!(get(&worker, PATH, Some(&tag)).status(), 304, "polls are not refused");
        streams.into_iter().for_each(OpenStream::abandon);
    }
    // All clients have disconnected, so no answer is sent.
    kube.scale("shop/web", 4);
    envoy.advance(2 * SECOND).answer();
    assert_eq!(worker.most_deferred(), 1);
    assert_eq!(envoy.stat("burst_long_poll_total"), Some(2 * MAX_WAITING as u64));
    let rejected = Some(6 * MAX_WAITING as u64);
    assert_eq!(envoy.stat("burst_long_poll_rejected_total"), rejected);
    assert_eq!(envoy.stat("burst_reply_429_total"), rejected);
}

#[test]
fn as_many_requests_as_may_wait_are_answered_within_a_second_and_a_few_at_a_time() {
    let kube = Kube::new();
    let (envoy, worker) = synced(&kube);
    let tag = etag(&worker);
    let streams: Vec<_> = (0..MAX_WAITING).map(|_| open(&worker, "30s", &tag)).collect();
    kube.scale("shop/web", 4);
    envoy.advance(HALF).answer();
    assert_eq!(answered(&streams), MAX_NESTING);
    envoy.advance(SECOND).answer();
    assert_eq!(answered(&streams), MAX_WAITING);
    assert!(worker.most_deferred() <= MAX_NESTING, "{}", worker.most_deferred());
    assert!(streams.into_iter().all(|stream| stream.finish().status() == 200));
    assert_eq!(worker.tick_period(worker.root()), Some(SECOND), "no request waits");
}

/// A bulk reply takes memory until its client has read it, so a change may not answer all requests at the same time.
#[test]
fn waiting_requests_are_answered_as_the_memory_for_bulk_replies_allows() {
    let kube = (0..2_000).fold(Kube::new(), |kube, number| {
        kube.with(&format!("shop/app-{number:04}"), 1, 5)
    });
    let (envoy, worker) = synced(&kube);
    let size = get(&worker, PATH, None).body().len();
    let fit = (32 << 20) / size;
    assert!(fit < MAX_WAITING, "{size} bytes each");
    let tag = etag(&worker);
    let mut streams: Vec<_> = (0..MAX_WAITING).map(|_| open(&worker, "30s", &tag)).collect();
    kube.scale("shop/app-0000", 4);
    envoy.advance(3 * SECOND).answer();
    assert_eq!(answered(&streams), fit);
    // The first clients have read their replies.
    let left = streams.split_off(fit);
    assert!(streams.into_iter().all(|stream| stream.finish().status() == 200));
    envoy.advance(SECOND).answer();
    assert_eq!(answered(&left), left.len());
    assert!(left.into_iter().all(|stream| stream.finish().status() == 200));
    assert_eq!(envoy.stat("burst_reply_bulk_rejected_total"), Some(0));
}

#[test]
fn a_wait_that_ends_while_bulk_replies_fill_the_memory_ends_with_503() {
    let kube = (0..2_000).fold(Kube::new(), |kube, number| {
        kube.with(&format!("shop/app-{number:04}"), 1, 5)
    });
    let (envoy, worker) = synced(&kube);
    let tag = etag(&worker);
    let streams: Vec<_> = (0..MAX_WAITING).map(|_| open(&worker, "10s", &tag)).collect();
    kube.scale("shop/app-0000", 4);
    envoy.advance(11 * SECOND).answer();
    let statuses: Vec<_> = streams.into_iter().map(|stream| stream.finish().status()).collect();
    let count = |status| statuses.iter().filter(|other| **other == status).count();
    assert!(count(503) > 0 && count(200) + count(503) == MAX_WAITING, "{statuses:?}");
}

#[test]
fn a_listener_that_drains_answers_its_waiting_requests() {
    let kube = Kube::new();
    let (envoy, worker) = synced(&kube);
    let old = worker.root();
    let tag = etag(&worker);
    let streams = [open(&worker, "10s", &tag), open(&worker, "2s", &tag)];
    worker
        .configure(EVERY_SECOND.replacen('{', r#"{"max_staleness":"90s","#, 1))
        .unwrap();
    envoy.advance(2 * SECOND).answer();
    assert_eq!(answered(&streams), 1, "its wait is over");
    kube.scale("shop/web", 4);
    envoy.advance(2 * SECOND).answer();
    let [changed, unchanged] = streams.map(|stream| stream.finish().status());
    assert_eq!((changed, unchanged), (200, 304));
    worker.retire(old);
    assert!(worker.alive());
}

#[test]
fn a_waiting_request_does_not_count_as_a_request_of_a_service() {
    let kube = Kube::new();
    let configuration = EVERY_SECOND.replacen('{', r#"{"requests":{"report_interval":"1s"},"#, 1);
    let envoy = envoy(&configuration, &kube);
    let worker = envoy.worker();
    envoy.advance(2 * SECOND).answer();
    let stream = open(&worker, "10s", &etag(&worker));
    kube.scale("shop/web", 4);
    envoy.advance(2 * SECOND).answer();
    assert_eq!(stream.finish().status(), 200);
    envoy.advance(3 * SECOND).answer();
    let web = super::requests::sum(&envoy).and_then(|sum| Some(sum.get("shop/web")?.requests));
    assert_eq!(web.unwrap_or_default(), 0);
}
