//! More concurrent requests than clients normally send: their cost is bounded, and no other client is affected.

use super::kube::Kube;
use super::metrics_apis::over_mutual_tls;
use super::reviews::{review, yes};
use super::{SECOND, envoy};
use crate::host::{Answer, Callout, FakeEnvoy, OpenStream, Request, Route, Seen, Vm};
use burst_metrics_api::review::PATH;
use burst_model::records::ID_KEY;
use proxy_wasm::hostcalls;

const CONFIGURATION: &str = r#"{"cluster":"kube_api","poll_interval":"1s","metrics_apis":{"filter_chain":"metrics","authorization":"subject_access_review"}}"#;
const METRIC: &str = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/burst_headroom";

/// The most requests that may wait in a VM.
const MAX_WAITING: usize = 256;
const TEN_TIMES_WAITING: usize = 10 * MAX_WAITING;

/// A nesting depth far below the limit of Envoy's stack.
const MAX_NESTING: usize = 8;

/// A worker that has read the cluster, and an API server that answers every review like this.
fn synced(configuration: &str, review: impl Into<Answer>) -> (FakeEnvoy, Vm) {
    let (kube, review) = (Kube::new(), review.into());
    let envoy = envoy(configuration, &kube).kube(move |callout: &Callout| match callout.path() == PATH {
        true => review.clone(),
        false => kube.answer(callout),
    });
    let worker = envoy.worker();
    envoy.advance(SECOND).answer();
    (envoy, worker)
}

fn by(user: &str, path: &str) -> Request {
    Request::get(path).header("x-remote-user", user)
}

fn wait_all(worker: &Vm, requests: impl IntoIterator<Item = Request>) -> Vec<OpenStream> {
    requests
        .into_iter()
        .map(|request| worker.open(request, over_mutual_tls()))
        .collect()
}

/// The same user for every number, or a different one for each.
fn user(same: bool, number: usize) -> String {
    if same { "alice".into() } else { format!("user-{number}") }
}

/// The number of responses with that status.
fn count(seen: &[Seen], status: u16) -> usize {
    seen.iter().filter(|seen| seen.status() == status).count()
}

/// Finishes all streams, and checks that another client is served before and after.
fn finish_all(worker: &Vm, streams: Vec<OpenStream>) -> Vec<Seen> {
    let header = || worker.response("web.shop").header("x-burst").map(str::to_owned);
    let before = header();
    worker.answer();
    let seen = streams.into_iter().map(OpenStream::finish).collect();
    assert!(worker.alive() && before.is_some() && header() == before);
    assert!(
        worker.most_deferred() <= MAX_NESTING,
        "{} replies at once",
        worker.most_deferred()
    );
    seen
}

#[test]
fn as_many_requests_as_may_wait_for_one_review_are_answered() {
    let discovery = "/apis/custom.metrics.k8s.io/v1beta2";
    let denied = review(r#"{"allowed":false}"#);
    let answers: [(Answer, u16); 4] = [
        (yes().into(), 200),
        (denied.into(), 403),
        (Answer::Reset, 500),
        (Answer::Timeout, 500),
    ];
    for (answer, status) in answers {
        for path in [METRIC, discovery] {
            let (_envoy, worker) = synced(CONFIGURATION, answer.clone());
            let streams = wait_all(&worker, vec![by("alice", path); MAX_WAITING]);
            let seen = finish_all(&worker, streams);
            assert_eq!(count(&seen, status), MAX_WAITING, "{path}: {answer:?}");
        }
    }
}

#[test]
fn requests_over_the_waiting_limit_are_refused_at_once() {
    for same in [true, false] {
        let (envoy, worker) = synced(CONFIGURATION, yes());
        let requests = (0..TEN_TIMES_WAITING).map(|number| by(&user(same, number), METRIC));
        let seen = finish_all(&worker, wait_all(&worker, requests));
        assert_eq!(
            (count(&seen, 200), count(&seen, 429)),
            (MAX_WAITING, TEN_TIMES_WAITING - MAX_WAITING)
        );
        let refused = seen.last().unwrap();
        assert_eq!(refused.header("retry-after"), Some("1"));
        assert!(
            refused.text().contains(r#""reason":"TooManyRequests""#),
            "{}",
            refused.text()
        );
        // All of them are answered, so the next requests may wait.
        let seen = finish_all(&worker, wait_all(&worker, vec![by("late", METRIC); MAX_WAITING]));
        assert_eq!(count(&seen, 200), MAX_WAITING);
        envoy.advance(SECOND);
        let rejected = (TEN_TIMES_WAITING - MAX_WAITING) as u64;
        assert_eq!(envoy.stat("burst_review_rejected_total"), Some(rejected));
        assert_eq!(envoy.stat("burst_reply_429_total"), Some(rejected));
    }
}

#[test]
fn clients_that_disconnect_free_capacity_for_others() {
    let (_envoy, worker) = synced(CONFIGURATION, yes());
    for stream in wait_all(&worker, vec![by("alice", METRIC); TEN_TIMES_WAITING]) {
        stream.abandon();
    }
    let seen = finish_all(&worker, wait_all(&worker, vec![by("bob", METRIC); MAX_WAITING]));
    assert_eq!(count(&seen, 200), MAX_WAITING);
}

/// The review continues after its client has disconnected.
#[test]
fn reviews_of_disconnected_clients_are_bounded_too() {
    let (envoy, worker) = synced(CONFIGURATION, Answer::Never);
    for number in 0..TEN_TIMES_WAITING {
        worker
            .open(by(&user(false, number), METRIC), over_mutual_tls())
            .abandon();
    }
    assert_eq!(worker.callouts().len(), MAX_WAITING);
    assert_eq!(worker.request(by("late", METRIC), over_mutual_tls()).status(), 429);
    // Requests for a pending review may wait. Other requests may wait once the reviews have timed out.
    let same = worker.open(by(&user(false, 0), METRIC), over_mutual_tls());
    envoy.advance(6 * SECOND);
    assert_eq!(same.finish().status(), 500);
    worker.open(by("late", METRIC), over_mutual_tls()).abandon();
    assert_eq!(worker.callouts().len(), 1);
}

/// A client may disconnect while its request is queued for an answer. The other requests are still answered.
#[test]
fn clients_that_disconnect_between_two_batches_affect_no_other_client() {
    let (_envoy, worker) = synced(CONFIGURATION, Answer::Never);
    let mut streams = wait_all(&worker, vec![by("alice", METRIC); MAX_WAITING]);
    let gone = streams.split_off(MAX_WAITING / 2);
    let [callout] = &worker.callouts()[..] else {
        panic!("one review")
    };
    let mut gone = gone.into_iter();
    gone.by_ref().take(10).for_each(OpenStream::abandon);
    worker.reply(callout, yes());
    gone.for_each(OpenStream::abandon);
    let seen: Vec<_> = streams.into_iter().map(OpenStream::finish).collect();
    assert_eq!(count(&seen, 200), MAX_WAITING / 2);
    assert!(worker.alive() && worker.most_deferred() <= MAX_NESTING);
}

#[test]
fn reviews_that_cannot_be_sent_are_answered_in_batches_too() {
    for same in [true, false] {
        let configuration = CONFIGURATION.replace("kube_api", "nowhere");
        let envoy = envoy(&configuration, &Kube::new());
        let (worker, other) = (envoy.worker(), envoy.worker());
        worker.tick();
        // Registering a wake queue needs an id. The other thread changes the id at each attempt, so all reviews wait
        // for the tick.
        for _ in 0..MAX_WAITING {
            let other = other.clone();
            worker.before_write(ID_KEY, move || {
                other.inside(|| hostcalls::set_shared_data(ID_KEY, Some(&[9, 0, 0, 0]), None).unwrap());
            });
        }
        let requests = (0..TEN_TIMES_WAITING).map(|number| by(&user(same, number), METRIC));
        let streams = wait_all(&worker, requests);
        worker.tick();
        let seen: Vec<_> = streams.into_iter().map(OpenStream::finish).collect();
        assert_eq!(
            (count(&seen, 500), count(&seen, 429)),
            (MAX_WAITING, TEN_TIMES_WAITING - MAX_WAITING)
        );
        assert!(
            worker.alive() && worker.most_deferred() <= MAX_NESTING,
            "{}",
            worker.most_deferred()
        );
    }
}

/// The filter resumes requests for another adapter instead of answering them.
#[test]
fn requests_for_another_adapter_are_resumed_in_batches() {
    let fallback = r#""authorization":"subject_access_review","fallback":{"external":{"cluster":"elsewhere"}}"#;
    let configuration = CONFIGURATION.replace(r#""authorization":"subject_access_review""#, fallback);
    let (_envoy, worker) = synced(&configuration, yes());
    let theirs = METRIC.replace("burst_headroom", "queue_length");
    let streams = wait_all(&worker, vec![by("alice", &theirs); MAX_WAITING]);
    let seen = finish_all(&worker, streams);
    assert_eq!(count(&seen, 200), MAX_WAITING);
}

/// The most bytes of bulk replies that may be in flight in a VM.
const MAX_BULK: usize = 32 << 20;

/// This many applications make a bulk reply of 200 KB.
const APPS: usize = 2_000;

/// A worker that has read many applications.
fn with_many_apps() -> (FakeEnvoy, Vm) {
    let kube = (0..APPS).fold(Kube::new(), |kube, number| {
        kube.with(&format!("shop/app-{number:04}"), 1, 5)
    });
    let envoy = envoy(&CONFIGURATION.replace("subject_access_review", "api_server"), &kube);
    let worker = envoy.worker();
    envoy.advance(10 * SECOND).answer();
    (envoy, worker)
}

#[test]
fn bulk_replies_in_flight_are_bounded_and_small_replies_are_not() {
    let web = || Route::istio("web", "shop");
    let services = || Request::get("/burstmetrics/services");
    let all = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/services/*/burst_headroom";
    let one = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/services/web/burst_headroom";
    let by_alice = |path| Request::get(path).header("x-remote-user", "alice");
    for (bulk, route, busy) in [
        (services(), web(), 503),
        (Request::get("/burstmetrics/services?format=json"), web(), 503),
        (by_alice(all), over_mutual_tls(), 429),
    ] {
        let (envoy, worker) = with_many_apps();
        let ask = || worker.request(bulk.clone(), route.clone());
        let whole = ask();
        assert_eq!(whole.status(), 200);
        let fit = MAX_BULK / whole.body().len();
        let open = |count: usize| {
            (0..count)
                .map(|_| worker.open(bulk.clone(), route.clone()))
                .collect::<Vec<_>>()
        };

        // Fills the limit, twice.
        for _ in 0..2 {
            let seen: Vec<_> = open(fit).into_iter().map(OpenStream::finish).collect();
            assert_eq!(count(&seen, 200), fit);
        }
        let streams = open(10 * fit);
        let refused = ask();
        assert_eq!((refused.status(), refused.header("retry-after")), (busy, Some("1")));
        let head = Request::new("HEAD", "/burstmetrics/services");
        let unchanged = services().header("if-none-match", "*");
        for (request, route, status) in [
            (head, web(), 200),
            (unchanged, web(), 304),
            (Request::get("/burstmetrics/services/shop/web"), web(), 200),
            (Request::get("/"), web(), 200),
            (by_alice(one), over_mutual_tls(), 200),
        ] {
            assert_eq!(worker.request(request, route).status(), status);
        }
        let seen: Vec<_> = streams.into_iter().map(OpenStream::finish).collect();
        assert_eq!((count(&seen, 200), count(&seen, busy)), (fit, 9 * fit));
        assert_eq!(ask().status(), 200, "finished replies free the capacity");
        envoy.advance(SECOND);
        let rejected = 9 * fit as u64 + 1;
        assert_eq!(envoy.stat("burst_reply_bulk_rejected_total"), Some(rejected));
    }
}

/// Two kinds of clients free their capacity: one that disconnects before its reply is written, and one whose reply
/// follows a review.
#[test]
fn bulk_replies_of_disconnected_clients_free_capacity_for_others() {
    let all = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/services/*/burst_headroom";
    let kube = (0..APPS).fold(Kube::new(), |kube, number| {
        kube.with(&format!("shop/app-{number:04}"), 1, 5)
    });
    let envoy = envoy(CONFIGURATION, &kube).kube(move |callout: &Callout| match callout.path() == PATH {
        true => yes().into(),
        false => kube.answer(callout),
    });
    let worker = envoy.worker();
    envoy.advance(10 * SECOND).answer();
    let mut answered = 0;
    for round in 0..4 {
        let streams = wait_all(&worker, vec![by(&format!("user-{round}"), all); MAX_WAITING]);
        worker.answer();
        let (gone, left) = (streams, worker.open(by("late", all), over_mutual_tls()));
        worker.answer();
        let seen: Vec<_> = gone.into_iter().map(OpenStream::finish).collect();
        answered = count(&seen, 200);
        assert!(
            answered > 0 && count(&seen, 429) == MAX_WAITING - answered,
            "{answered}"
        );
        left.abandon();
    }
    assert!(answered < MAX_WAITING, "some replies exceed the capacity");
}
