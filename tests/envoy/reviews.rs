//! The API server decides whether a user may read a metric, while clients of the proxy come and go.

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

/// For reviews that are never answered.
const SHORT: &str = "1s";
/// For reviews that are answered, on a busy machine.
const LONG: &str = "60s";

/// How long a worker caches a review.
const CACHE_TIME: Duration = Duration::from_secs(10);

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
fn read_rules() -> Vec<Rule> {
    vec![Rule {
        api_groups: vec!["external.metrics.k8s.io".into()],
        resources: vec!["burst_headroom".into()],
        verbs: vec!["list".into()],
        namespace: Some("default".into()),
    }]
}

fn review_count(backend: &Backend) -> usize {
    backend.api.requests.count(|seen| seen.resource == REVIEWS)
}

fn is_ok(answer: &Answer) -> bool {
    answer.status == 200
}

fn the_api_server_decides_whether_a_user_gets_an_answer(version: Version) {
    let backend = Backend::sample();
    backend.api.access.set_rules("alice", read_rules());
    backend.api.access.set_rules("bob", vec![]);
    let proxy = start(version, &backend, LONG, &json!({}));
    let mut apis = proxy.client("apis");
    // These users need no review. A review sent before the first value has expired by then.
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
    let before = review_count(&backend);
    for _ in 0..20 {
        assert!(apis.ask_each(&by("alice")).iter().all(is_ok));
    }
    // Some workers may not have the latest snapshot yet, so their answers may differ.
    let of_workers = apis.ask_each(&master);
    assert!(of_workers.iter().all(is_ok));
    // On a busy machine, some cached reviews may have expired.
    let expired = begun.elapsed().as_secs() / CACHE_TIME.as_secs();
    let again = (review_count(&backend) - before) as u64;
    assert!(
        again <= expired * of_workers.len() as u64,
        "reviewed again {again} times, and expired {expired} times"
    );
    // A review that allowed access expires.
    backend.api.access.set_rules("alice", vec![]);
    apis.wait(&by("alice"), "a refusal", |answer| answer.status == 403);
}

fn each_group_header_is_one_group_of_the_review(version: Version) {
    let backend = Backend::sample();
    backend.api.access.set_rules("carol", vec![]);
    backend.api.access.set_rules("a,b", read_rules());
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
    let before = review_count(&backend);
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
        review_count(&backend) - before >= workers
    });
    // The pending review fails now, for all requests that wait for it.
    backend.refuse_connections();
    for mut connection in waiting {
        assert_eq!(connection.answer().expect("an answer").status, 500);
    }
    assert_eq!(review_count(&backend) - before, workers);
}

fn a_client_that_disconnects_affects_no_other_client(version: Version) {
    let backend = Backend::sample();
    let proxy = start(version, &backend, SHORT, &json!({}));
    let mut apis = proxy.client("apis");
    apis.wait(&by("alice"), "a value", is_ok);
    backend.api.faults.inject(REVIEWS, Fault::Hang);
    let before = review_count(&backend);
    let connections = [(); 20].map(|()| {
        let mut connection = Connection::open(proxy.envoy.listener("apis")).expect("a connection");
        connection.send(&by("erin")).expect("a request");
        connection
    });
    wait::until(PATIENCE, "a question", || review_count(&backend) > before);
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
    // The upstream, as the other adapter, answers `hello` to discovery.
    let list = Request::get("/apis/external.metrics.k8s.io/v1beta1").through(NGSA_1_CLUSTER);
    let listed = apis.ask(&list.header("x-remote-user", "alice"));
    assert!(
        listed.status == 200 && listed.body.contains("burst_headroom"),
        "{listed:?}"
    );
    let words = "lists this filter's metrics alone";
    wait::until(PATIENCE, words, || proxy.log_lines(words).len() == 1);
}
