//! A stale snapshot.

use burst_testkit::{
    Version,
    filter::{Backend, Client, NGSA_1, NGSA_1_CLUSTER, PATIENCE, Proxy, listing},
    http::Request,
    wait,
};
use serde_json::json;
use std::thread;
use std::time::{Duration, Instant};

on_each_envoy!(
    values_are_served_until_they_are_stale_and_then_follow_on_stale,
    after_an_outage_all_services_return_together_and_soon,
);

/// The filter notices a restored API server within 10 s. Then all lists are answered, and each thread needs a tick.
const SOON: Duration = Duration::from_secs(14);

fn values_are_served_until_they_are_stale_and_then_follow_on_stale(version: Version) {
    let mut backend = Backend::sample();
    let keys = |on_stale| listing(json!({"max_staleness": "6s", "on_stale": on_stale}));
    let proxy = Proxy::of(version)
        .listener("drop", keys("drop"))
        .listener("mark", keys("mark"))
        .listener("keep", keys("keep"))
        .start(&backend);
    let [mut drop, mut mark, mut keep] = ["drop", "mark", "keep"].map(|listener| proxy.client(listener));
    let request = Request::to(NGSA_1_CLUSTER);
    for client in [&mut drop, &mut mark, &mut keep] {
        client.wait_for_header(&request, Some(NGSA_1));
    }
    let read_before = proxy.stat("burst_snapshot_timestamp_seconds");
    backend.refuse_connections();
    let gone = drop.first_without_header(&request);
    drop.wait_for_header(&request, None);
    let marked = format!("{NGSA_1}, stale=true");
    mark.wait_for_header(&request, Some(&marked));
    assert_eq!(keep.ask(&request).header("x-burst"), Some(NGSA_1));
    proxy.wait_for_stat("burst_header_absent_stale_total", |count| count > 0);
    for path in ["/burstmetrics/services", "/burstmetrics/services/default/ngsa-svc-1"] {
        let request = Request::get(path);
        // Each listener notices it with its own tick.
        keep.wait(&request, "an age", |answer| answer.status != 200);
        for answer in keep.ask_each(&request) {
            assert_eq!(
                (answer.status, answer.header("retry-after")),
                (503, Some("1")),
                "{path}"
            );
            let body = &answer.body;
            assert!(
                body.starts_with("too stale: the Kubernetes API was last read "),
                "{path}: {body}"
            );
            assert!(body.ends_with(" s ago, and 6 s are allowed\n"), "{path}: {body}");
        }
    }
    let read = proxy.stat("burst_snapshot_timestamp_seconds");
    assert!(
        (read_before..=gone - 6).contains(&read),
        "the time of the last good read: {read}, not in {read_before} to {gone} less 6"
    );
    backend.accept_connections();
    for client in [&mut drop, &mut mark, &mut keep] {
        client.wait_for_header(&request, Some(NGSA_1));
    }
    wait::until(PATIENCE, "a newer read", || {
        proxy.stat("burst_snapshot_timestamp_seconds") > read
    });
}

/// Sends requests to the clients in turn for this long. Each answer has all services, or is a 503 where one is allowed.
fn check_answers(lasts: Duration, clients: &mut [(Client, String)], may_be_503: impl Fn(Duration) -> bool) {
    let begun = Instant::now();
    while begun.elapsed() < lasts {
        for (client, whole) in &mut *clients {
            let may_be_503 = may_be_503(begun.elapsed());
            for answer in client.ask_each(&Request::get("/burstmetrics/services")) {
                let is_whole = answer.status == 200 && answer.body == *whole;
                let is_503 = answer.status == 503 && may_be_503;
                assert!(is_whole || is_503, "after {:?}: {answer:?}", begun.elapsed());
            }
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn after_an_outage_all_services_return_together_and_soon(version: Version) {
    let mut backend = Backend::sample();
    let keys = json!({"max_staleness": "6s", "request_timeout": "5s"});
    let proxy = Proxy::of(version)
        .listener("list", listing(keys.clone()))
        .listener("watch", keys)
        .start(&backend);
    let mut clients = ["list", "watch"].map(|listener| {
        let (mut client, request) = (proxy.client(listener), Request::get("/burstmetrics/services"));
        client.wait(&request, "a snapshot", |answer| answer.status == 200);
        let whole = client.ask(&request).body;
        (client, whole)
    });
    // By then the backoff is longer than `max_staleness`, and the lists recover in random order.
    for outage in [20, 33] {
        backend.refuse_connections();
        check_answers(Duration::from_secs(outage), &mut clients, |_| true);
        for (client, _) in &mut clients {
            let answers = client.ask_each(&Request::get("/burstmetrics/services"));
            assert!(answers.iter().all(|answer| answer.status == 503), "{answers:?}");
        }
        backend.accept_connections();
        check_answers(SOON + Duration::from_secs(4), &mut clients, |after| after < SOON);
    }
}
