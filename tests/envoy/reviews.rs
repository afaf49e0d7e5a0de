//! The API server decides whether a user may read a metric, and clients of the proxy come and go.

use std::time::{Duration, Instant};

use burst_lab::api::{Fault, Rule};
use burst_testkit::{
    Version,
    filter::{Backend, NGSA_1_CLUSTER, PATIENCE, Plugin, Proxy},
    http::{Answer, Connection, Request},
    wait,
};
use serde_json::{Value, json};

on_each_envoy!(
    the_api_server_decides_whether_a_user_gets_an_answer,
    each_group_header_is_one_group_of_the_review,
    no_user_gets_an_answer_while_reviews_fail,
    concurrent_requests_of_one_user_share_one_review_per_thread,
    a_client_that_disconnects_affects_no_other_client,
    requests_for_another_adapters_metrics_follow_the_route,
);

const REVIEWS: &str = "subjectaccessreviews.authorization.k8s.io";
const METRIC: &str = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default/burst_headroom";
const OTHER: &str = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue_length";

/// Nobody answers in that time on purpose.
const SHORT: &str = "1s";
/// Whoever is asked answers in that time, on a machine with much else to do.
const LONG: &str = "60s";

/// How long a worker knows what it was answered.
const KEPT: Duration = Duration::from_secs(10);

fn keys(request_timeout: &str, more: &Value) -> Value {
    let mut apis = json!({
        "filter_chain": "metrics-apis",
        "insecure_loopback_demo": true,
        "authorization": "subject_access_review",
    });
    match (&mut apis, more) {
        (Value::Object(apis), Value::Object(more)) => apis.extend(more.clone()),
        (_, more) => panic!("{more} are no keys"),
    }
    json!({"metrics_apis": apis, "request_timeout": request_timeout})
}

fn start(version: Version, backend: &Backend, request_timeout: &str, more: &Value) -> Proxy {
    Proxy::of(version)
        .plugin(Plugin::new("apis", keys(request_timeout, more)).filter_chain("metrics-apis"))
        .start(backend)
}

fn by(user: &'static str) -> Request {
    Request::get(METRIC)
        .through(NGSA_1_CLUSTER)
        .header("x-remote-user", user)
}

/// External metrics of the namespace `default`.
fn may_read() -> Vec<Rule> {
    vec![Rule {
        api_groups: vec!["external.metrics.k8s.io".into()],
        resources: vec!["burst_headroom".into()],
        verbs: vec!["list".into()],
        namespace: Some("default".into()),
    }]
}

fn asked(backend: &Backend) -> usize {
    backend.api.requests.count(|seen| seen.resource == REVIEWS)
}

fn is_ok(answer: &Answer) -> bool {
    answer.status == 200
}

fn the_api_server_decides_whether_a_user_gets_an_answer(version: Version) {
    let backend = Backend::sample();
    backend.api.access.set_rules("alice", may_read());
    backend.api.access.set_rules("bob", vec![]);
    let proxy = start(version, &backend, LONG, &json!({}));
    let mut apis = proxy.client("apis");
    // Its own checks need no review; a review from before the first value would have expired by then.
    let master = by("root").header("x-remote-group", "system:masters");
    apis.wait(&master, "a value", is_ok);
    let begun = Instant::now();
    apis.wait(&by("alice"), "leave to read it", is_ok);
    let refused = apis.ask(&by("bob"));
    assert_eq!(
        (refused.status, refused.header("x-content-type-options")),
        (403, Some("nosniff"))
    );
    let words = r#"burst_headroom.external.metrics.k8s.io is forbidden: User \"bob\" cannot list"#;
    assert!(refused.body.contains(words), "{}", refused.body);
    let before = asked(&backend);
    for _ in 0..20 {
        assert!(apis.ask_each(&by("alice")).iter().all(is_ok));
    }
    // Not all of them have taken up the latest look at the cluster yet; so their answers need not be the same.
    let of_workers = apis.ask_each(&master);
    assert!(of_workers.iter().all(is_ok));
    // On a machine with much else to do, what was known may have to be asked again by now.
    let forgotten = begun.elapsed().as_secs() / KEPT.as_secs();
    let again = (asked(&backend) - before) as u64;
    assert!(
        again <= forgotten * of_workers.len() as u64,
        "asked again {again} times, and forgotten {forgotten} times"
    );
    // What was allowed is not for ever.
    backend.api.access.set_rules("alice", vec![]);
    apis.wait(&by("alice"), "a refusal", |answer| answer.status == 403);
}

fn each_group_header_is_one_group_of_the_review(version: Version) {
    let backend = Backend::sample();
    backend.api.access.set_rules("carol", vec![]);
    backend.api.access.set_rules("a,b", may_read());
    let proxy = start(version, &backend, LONG, &json!({}));
    let mut apis = proxy.client("apis");
    apis.wait(&by("carol").header("x-remote-group", "a,b"), "a value", is_ok);
    let two = by("carol").header("x-remote-group", "a").header("x-remote-group", "b");
    assert_eq!(apis.ask(&two).status, 403);
}

fn no_user_gets_an_answer_while_reviews_fail(version: Version) {
    let mut backend = Backend::sample();
    let proxy = start(version, &backend, SHORT, &json!({}));
    let mut apis = proxy.client("apis");
    apis.wait(&by("alice"), "a value", is_ok);
    let users = ["u0", "u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8"];
    let faults = [
        Fault::Unavailable,
        Fault::InternalError,
        Fault::Forbidden,
        Fault::TooManyRequests { retry_after: 1 },
        Fault::Hang,
        Fault::Stall,
        Fault::Reset,
        Fault::Truncate,
        Fault::OtherKind,
    ];
    for (user, fault) in users.into_iter().zip(faults) {
        backend.api.faults.inject(REVIEWS, fault.clone());
        for answer in apis.ask_each(&by(user)) {
            let status: Value =
                serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {answer:?}"));
            assert_eq!((answer.status, answer.header("retry-after")), (500, None), "{fault:?}");
            assert_eq!(status["reason"], "InternalError", "{fault:?}");
        }
        assert!(
            apis.ask_each(&by("alice"))
                .iter()
                .all(|answer| answer.status == 200 || answer.status == 500)
        );
        backend.api.faults.clear();
        apis.wait(&by(user), "a value again", is_ok);
    }
    backend.refuse_connections();
    assert!(apis.ask_each(&by("late")).iter().all(|answer| answer.status == 500));
    backend.accept_connections();
    apis.wait(&by("late"), "a value again", is_ok);
}

fn concurrent_requests_of_one_user_share_one_review_per_thread(version: Version) {
    let mut backend = Backend::sample();
    let proxy = start(version, &backend, LONG, &json!({}));
    let mut apis = proxy.client("apis");
    apis.wait(&by("alice"), "a value", is_ok);
    let workers = apis.ask_each(&by("alice")).len();
    let before = asked(&backend);
    backend.api.faults.inject(REVIEWS, Fault::Hang);
    let mut waiting: Vec<_> = (0..20)
        .map(|_| Connection::open(proxy.envoy.listener("apis")).expect("a connection"))
        .collect();
    for connection in &mut waiting {
        connection.send(&by("dave")).expect("a request");
    }
    wait::until(PATIENCE, "all of them wait", || {
        proxy.envoy.stat("http.apis.downstream_rq_active") == Some(20)
    });
    wait::until(PATIENCE, "a question of each worker", || {
        asked(&backend) - before >= workers
    });
    // The unanswered review fails now, for all requests that wait.
    backend.refuse_connections();
    for mut connection in waiting {
        assert_eq!(connection.answer().expect("an answer").status, 500);
    }
    assert_eq!(asked(&backend) - before, workers);
}

fn a_client_that_disconnects_affects_no_other_client(version: Version) {
    let backend = Backend::sample();
    let proxy = start(version, &backend, SHORT, &json!({}));
    let mut apis = proxy.client("apis");
    apis.wait(&by("alice"), "a value", is_ok);
    backend.api.faults.inject(REVIEWS, Fault::Hang);
    let before = asked(&backend);
    let connections = [(); 20].map(|()| {
        let mut connection = Connection::open(proxy.envoy.listener("apis")).expect("a connection");
        connection.send(&by("erin")).expect("a request");
        connection
    });
    wait::until(PATIENCE, "a question", || asked(&backend) > before);
    drop(connections);
    backend.api.faults.clear();
    apis.wait(&by("erin"), "a value", is_ok);
    wait::until(PATIENCE, "no stream is left", || {
        proxy.envoy.stat("http.apis.downstream_rq_active") == Some(0)
    });
}

fn requests_for_another_adapters_metrics_follow_the_route(version: Version) {
    let backend = Backend::sample();
    backend.api.access.set_rules("bob", vec![]);
    let fallback = json!({"fallback": {"external": {"cluster": "elsewhere"}}});
    let proxy = start(version, &backend, LONG, &fallback);
    let mut apis = proxy.client("apis");
    apis.wait(&by("alice"), "a value", is_ok);
    let theirs = |user| {
        Request::get(OTHER)
            .through(NGSA_1_CLUSTER)
            .header("x-remote-user", user)
    };
    let passed = apis.ask(&theirs("alice"));
    assert_eq!(
        (passed.status, passed.body.as_str(), passed.header("x-burst")),
        (200, "hello\n", None)
    );
    assert_eq!(apis.ask(&theirs("bob")).status, 403);
    // The upstream answers `hello` to who asks what it has.
    let list = Request::get("/apis/external.metrics.k8s.io/v1beta1").through(NGSA_1_CLUSTER);
    let listed = apis.ask(&list.header("x-remote-user", "alice"));
    assert!(
        listed.status == 200 && listed.body.contains("burst_headroom"),
        "{listed:?}"
    );
    let words = "lists this filter's metrics alone";
    wait::until(PATIENCE, words, || proxy.log_lines(words).len() == 1);
}
