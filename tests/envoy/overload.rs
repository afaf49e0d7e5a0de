//! More concurrent requests than clients normally send: their cost is bounded, and no other client is affected.

use burst_lab::api::Fault;
use burst_testkit::{
    Version,
    filter::{Backend, Client, NGSA_1, NGSA_1_CLUSTER, PATIENCE, Plugin, Proxy, Stalled},
    http::{Connection, Request},
    wait,
};
use http::StatusCode;
use serde_json::{Value, json};

on_each_envoy!(
    requests_that_wait_for_one_review_do_not_trap_the_vm,
    bulk_replies_that_no_client_reads_use_bounded_memory,
    a_thousand_connections_that_wait_for_a_change_cost_no_other_client_its_answer,
);

const REVIEWS: &str = "subjectaccessreviews.authorization.k8s.io";
const METRIC: &str = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default/burst_headroom";

/// The most requests that may wait in a VM. Answering 305 at once trapped the VM.
const MAX_WAITING: usize = 256;
/// The most bytes of bulk replies that may be in flight in a VM.
const MAX_BULK: usize = 32 << 20;
/// How many times the limit an attack sends.
const TIMES: usize = 10;

/// This many applications make a bulk reply of 140 KB.
const APPS: usize = 1_500;

/// The host's log line for a trap.
const TRAP: &str = "Uncaught RuntimeError";

/// One worker, so that one VM counts everything, with a gateway's listener and one for the metrics APIs.
fn start(version: Version, backend: &Backend, authorization: &str) -> (Proxy, Client) {
    let apis = json!({
        "filter_chain": "metrics-apis",
        "authorization": authorization,
        "insecure_loopback_demo": true,
    });
    let keys: Value = json!({"metrics_apis": apis});
    let proxy = Proxy::of(version)
        .workers(1)
        .plugin(Plugin::new("gateway", keys.clone()))
        .plugin(Plugin::new("apis", keys).filter_chain("metrics-apis"))
        .start(backend);
    let gateway = proxy.client("gateway");
    (proxy, gateway)
}

fn requests_that_wait_for_one_review_do_not_trap_the_vm(version: Version) {
    let mut backend = Backend::sample();
    let (proxy, mut gateway) = start(version, &backend, "subject_access_review");
    let unrelated = Request::to(NGSA_1_CLUSTER);
    gateway.wait_for_header(&unrelated, Some(NGSA_1));
    // Exactly the limit, then the attack.
    for requests in [MAX_WAITING, TIMES * MAX_WAITING] {
        backend.api.faults.inject(REVIEWS, Fault::Hang);
        let waiting = wait_for_a_review(&proxy, requests);
        wait::until(PATIENCE, "as many wait as may", || {
            proxy.envoy.stat("http.apis.downstream_rq_active") == Some(MAX_WAITING as u64)
                && proxy.stat("burst_review_rejected_total") == (requests - MAX_WAITING) as u64
        });
        gateway.wait_for_header(&unrelated, Some(NGSA_1));
        // The pending review fails now, for all requests that wait for it.
        backend.refuse_connections();
        let mut statuses = Vec::new();
        for mut connection in waiting {
            let answer = connection.answer().expect("an answer");
            let retry_after = answer.header("retry-after");
            assert_eq!(retry_after, (answer.status == 429).then_some("1"), "{answer:?}");
            statuses.push(answer.status);
        }
        let count = |status| statuses.iter().filter(|other| **other == status).count();
        assert_eq!((count(500), count(429)), (MAX_WAITING, requests - MAX_WAITING));
        gateway.wait_for_header(&unrelated, Some(NGSA_1));
        backend.api.faults.clear();
        backend.accept_connections();
    }
    assert_eq!(proxy.log_lines(TRAP), Vec::<String>::new());
    proxy
        .client("apis")
        .wait(&by_dave(), "a value", |answer| answer.status == 200);
}

fn by_dave() -> Request {
    Request::get(METRIC)
        .through(NGSA_1_CLUSTER)
        .header("x-remote-user", "dave")
}

/// One connection per request.
fn wait_for_a_review(proxy: &Proxy, requests: usize) -> Vec<Connection> {
    let address = proxy.envoy.listener("apis");
    let one = |_| {
        let mut connection = Connection::open(address).expect("a connection");
        connection.send(&by_dave()).expect("a request");
        connection
    };
    (0..requests).map(one).collect()
}

fn bulk_replies_that_no_client_reads_use_bounded_memory(version: Version) {
    let backend = Backend::of_apps(APPS);
    let (proxy, mut gateway) = start(version, &backend, "api_server");
    let bulk = Request::get("/burstmetrics/services");
    let rows = |body: &str| body.matches("current-load=1,").count();
    gateway.wait(&bulk, "all services", |answer| rows(&answer.body) == APPS);
    let whole = gateway.ask(&bulk);
    let fit = MAX_BULK / whole.body.len();
    let address = proxy.envoy.listener("gateway");
    let get = |path: &str, count| Stalled::get(address, &format!("/burstmetrics/services{path}"), &[], count);
    // The memory of as many streams with small replies, which are not limited.
    let small = get("/shop/app-00", TIMES * fit);
    assert_eq!(small.heads(StatusCode::OK).len(), TIMES * fit);
    let before = allocated(&proxy);
    drop(small);

    // Fills the limit, and fills it again after these streams have ended.
    wait_for_no_stream(&proxy);
    for _ in 0..2 {
        assert_eq!(get("", fit).heads(StatusCode::OK).len(), fit);
        wait_for_no_stream(&proxy);
    }
    // Over HTTP/1.1, the connection takes a reply at once and the stream ends, so clients do not block each other.
    let mut connections: Vec<_> = (0..2 * fit)
        .map(|_| Connection::open(address).expect("a connection"))
        .collect();
    for connection in &mut connections {
        connection.send(&bulk).expect("a request");
    }
    for connection in &mut connections {
        assert_eq!(connection.answer().expect("an answer").status, 200);
    }
    drop(connections);

    let stalled = get("", TIMES * fit);
    assert_eq!(stalled.heads(StatusCode::OK).len(), fit);
    let refused = stalled.heads(StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.len(), (TIMES - 1) * fit);
    assert!(
        refused
            .iter()
            .all(|head| head["retry-after"] == "1" && head.contains_key("x-burst-confirmed"))
    );
    let grown = allocated(&proxy).saturating_sub(before);
    assert!(grown < 3 * MAX_BULK / 2, "{grown} bytes for {MAX_BULK} of replies");

    // Replies other than bulk replies are unaffected.
    let tag = whole.header("etag").expect("a tag");
    for (request, status) in [
        (bulk.clone(), 503),
        (Request::of("HEAD", "/burstmetrics/services"), 200),
        (bulk.clone().header("if-none-match", tag), 304),
        (Request::get("/burstmetrics/services/shop/app-00"), 200),
        (Request::to(NGSA_1_CLUSTER), 200),
    ] {
        assert_eq!(gateway.ask(&request).status, status, "{request:?}");
    }
    proxy.wait_for_stat("burst_reply_bulk_rejected_total", |count| count > refused.len() as u64);
    drop(stalled);
    gateway.wait(&bulk, "a bulk reply again", |answer| rows(&answer.body) == APPS);
    assert_eq!(proxy.log_lines(TRAP), Vec::<String>::new());
}

fn a_thousand_connections_that_wait_for_a_change_cost_no_other_client_its_answer(version: Version) {
    const CONNECTIONS: usize = 1_000;
    let backend = Backend::sample();
    let (proxy, mut gateway) = start(version, &backend, "api_server");
    let unrelated = Request::to(NGSA_1_CLUSTER);
    gateway.wait_for_header(&unrelated, Some(NGSA_1));
    let bulk = Request::get("/burstmetrics/services");
    let tag = gateway.ask(&bulk).header("etag").expect("a tag").to_owned();
    let waiting = || {
        let request = Request::get("/burstmetrics/services?wait=30s").header("if-none-match", &tag);
        let mut connection = Connection::open(proxy.envoy.listener("gateway")).expect("a connection");
        connection.send(&request).expect("a request");
        connection
    };
    let is_waiting = |count: usize| {
        wait::until(PATIENCE, "as many requests wait as may", || {
            proxy.envoy.stat("http.gateway.downstream_rq_active") == Some(count as u64)
        });
    };
    // The first ones disconnect, and so leave their places to the others.
    let gone: Vec<_> = (0..MAX_WAITING).map(|_| waiting()).collect();
    is_waiting(MAX_WAITING);
    drop(gone);
    is_waiting(0);
    let mut connections: Vec<_> = (0..CONNECTIONS).map(|_| waiting()).collect();
    is_waiting(MAX_WAITING);
    // On a slow machine some have waited long enough before the last ones come, and leave their places to these.
    let stat = |name| usize::try_from(proxy.stat(name)).expect("a count");
    let rejected = || stat("burst_long_poll_rejected_total");
    wait::until(PATIENCE, "each waits or is rejected", || {
        stat("burst_long_poll_total") + rejected() == MAX_WAITING + CONNECTIONS
    });
    gateway.wait_for_header(&unrelated, Some(NGSA_1));
    assert_eq!(gateway.ask(&bulk).status, 200);

    backend.scale_ngsa_1(3);
    let mut statuses = Vec::new();
    for connection in &mut connections {
        let answer = connection.answer().expect("an answer");
        match answer.status {
            200 => assert!(answer.body.contains("current-load=3,"), "{answer:?}"),
            304 => assert_eq!(answer.header("etag"), Some(tag.as_str())),
            429 => assert_eq!(answer.header("retry-after"), Some("1"), "{answer:?}"),
            _ => panic!("{answer:?}"),
        }
        statuses.push(answer.status);
    }
    let count = |status| statuses.iter().filter(|other| **other == status).count();
    assert_eq!(count(429), rejected());
    assert!(
        count(429) > 0 && (1..=MAX_WAITING).contains(&count(200)),
        "{statuses:?}"
    );
    gateway.wait(&unrelated, "the change", |answer| {
        answer
            .header("x-burst")
            .is_some_and(|value| value.contains("current-load=3,"))
    });
    assert_eq!(proxy.log_lines(TRAP), Vec::<String>::new());
}

fn wait_for_no_stream(proxy: &Proxy) {
    wait::until(PATIENCE, "no stream is left", || {
        proxy.envoy.stat("http.gateway.downstream_rq_active") == Some(0)
    });
}

/// The bytes that Envoy has allocated.
fn allocated(proxy: &Proxy) -> usize {
    let memory: Value = serde_json::from_str(&proxy.envoy.admin("/memory").body).expect("JSON");
    let allocated = memory["allocated"].as_str().expect("bytes in use");
    allocated.parse().expect("a number")
}
