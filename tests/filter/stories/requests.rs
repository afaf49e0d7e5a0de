//! Every thread counts requests, and the leader adds them up.

use super::kube::Kube;
use super::{SECOND, envoy};
use crate::host::{FailurePolicy, FakeEnvoy, Request, Response, Route, Vm};
use burst_model::request_rates::{RequestCounts, Tally};
use std::collections::BTreeMap;
use std::time::Duration;

const COUNTING: &str = r#"{"cluster":"kube_api","requests":{"report_interval":"1s"}}"#;

/// Longer than the counts of a VM that is gone are included: two intervals and three seconds.
const EXPIRY: Duration = Duration::from_secs(7);

/// The proxy's sums by Service, or `None` if it has none.
pub(super) fn sum(envoy: &FakeEnvoy) -> Option<BTreeMap<String, RequestCounts>> {
    let shared = envoy.shared_data("burst-metrics/");
    let sums: Vec<_> = shared
        .iter()
        .filter(|(key, bytes)| key.ends_with("/requests/sum") && !bytes.is_empty())
        .map(|(_, bytes)| Tally::parse(bytes).unwrap())
        .collect();
    let [sum] = &sums[..] else {
        assert!(sums.is_empty(), "one sum: {sums:?}");
        return None;
    };
    let services = sum.services.iter();
    Some(services.map(|(name, count)| ((*name).to_owned(), *count)).collect())
}

/// The requests and the rejected requests in the proxy's sum for `shop/web`.
fn web(envoy: &FakeEnvoy) -> Option<(u64, u64)> {
    let count = *sum(envoy)?.get("shop/web")?;
    Some((count.requests, count.rejected))
}

fn serve(vm: &Vm, requests: usize) {
    for _ in 0..requests {
        vm.response("web.shop");
    }
}

/// Waits until every thread has written its counts and the leader has summed them up. No request leaves the window in
/// that time.
fn settle(envoy: &FakeEnvoy) {
    envoy.advance(Duration::from_secs(3)).answer();
}

#[test]
fn the_requests_of_all_threads_are_added_up() {
    let envoy = envoy(COUNTING, &Kube::new());
    let (_main, one, two) = (envoy.main_thread(), envoy.worker(), envoy.worker());
    settle(&envoy);
    serve(&one, 10);
    serve(&two, 5);
    two.response("api.shop");
    settle(&envoy);
    assert_eq!(web(&envoy), Some((15, 0)));
    assert_eq!(sum(&envoy).unwrap()["shop/api"].requests, 1);
    envoy.advance(Duration::from_secs(40)).answer();
    assert_eq!(web(&envoy), Some((0, 0)), "the window has no requests");
}

#[test]
fn a_service_without_replicas_has_its_rejected_requests_counted() {
    let envoy = envoy(COUNTING, &Kube::new());
    let worker = envoy.worker();
    let asked = |route| worker.request(Request::get("/"), route);
    for _ in 0..4 {
        asked(Route::istio("web", "shop").without_hosts());
    }
    asked(Route::istio("web", "shop").answering(Response::status(429)));
    asked(Route::istio("web", "shop").answering(Response::status(500)));
    settle(&envoy);
    assert_eq!(web(&envoy), Some((6, 5)));
}

#[test]
fn requests_for_no_service_and_replies_of_the_filter_are_not_counted() {
    let envoy = envoy(COUNTING, &Kube::new());
    let worker = envoy.worker();
    settle(&envoy);
    for route in [
        Route::to("somewhere"),
        Route::to("PassthroughCluster"),
        Route::unknown_cluster(),
        Route::direct_response(Response::ok()),
    ] {
        worker.request(Request::get("/"), route);
    }
    worker.request(Request::get("/burstmetrics/services"), Route::istio("web", "shop"));
    settle(&envoy);
    assert_eq!(sum(&envoy), Some(BTreeMap::new()));
}

#[test]
fn requests_in_flight_are_counted_while_they_last() {
    let envoy = envoy(COUNTING, &Kube::new());
    let worker = envoy.worker();
    settle(&envoy);
    let open: Vec<_> = (0..3)
        .map(|_| worker.open(Request::get("/"), Route::istio("web", "shop")))
        .collect();
    envoy.advance(Duration::from_secs(60)).answer();
    let in_flight = || sum(&envoy).unwrap()["shop/web"].in_flight_milli;
    assert_eq!((web(&envoy), in_flight()), (Some((0, 0)), Some(3_000)));
    open.into_iter().for_each(|stream| drop(stream.finish()));
    settle(&envoy);
    let fewer = in_flight().unwrap();
    assert!(
        (1..3_000).contains(&fewer),
        "part of the window still had requests in flight: {fewer}"
    );
    envoy.advance(Duration::from_secs(60)).answer();
    assert_eq!(in_flight(), Some(0));
}

#[test]
fn counting_requests_in_flight_can_be_turned_off() {
    let kube = Kube::new();
    let envoy = envoy(r#"{"cluster":"kube_api","requests":{"in_flight":false}}"#, &kube);
    let worker = envoy.worker();
    settle(&envoy);
    let before = worker.host_calls();
    let stream = worker.open(Request::get("/"), Route::istio("web", "shop"));
    assert_eq!(worker.host_calls() - before, 1, "the path, for /burstmetrics");
    stream.finish();
}

#[test]
fn counting_costs_two_property_reads_a_request_and_none_when_it_is_off() {
    let calls = |configuration: &str| {
        let envoy = envoy(configuration, &Kube::new());
        let worker = envoy.worker();
        envoy.advance(SECOND).answer();
        serve(&worker, 1);
        let before = worker.host_calls();
        serve(&worker, 1);
        worker.host_calls() - before
    };
    let off = calls(r#"{"cluster":"kube_api"}"#);
    assert_eq!(off, 3, "the path, the cluster, the header");
    let counting = calls(r#"{"cluster":"kube_api","requests":{"in_flight":false}}"#);
    assert_eq!(counting - off, 1, "the status");
    assert_eq!(calls(COUNTING) - off, 2, "and the cluster when the request begins");
    let pods = COUNTING.replace(
        "\"requests\":{",
        "\"requests\":{\"pods\":true,\"hub\":{\"cluster\":\"hub\"},",
    );
    assert_eq!(calls(&pods) - off, 3, "and the address of the endpoint");
    let elsewhere = |configuration: &str| {
        let envoy = envoy(configuration, &Kube::new());
        let worker = envoy.worker();
        let count = || {
            let before = worker.host_calls();
            worker.request(Request::get("/"), Route::to("somewhere"));
            worker.host_calls() - before
        };
        count();
        count()
    };
    assert_eq!(
        elsewhere(&pods),
        elsewhere(COUNTING),
        "nothing more for a response of no Service"
    );
}

#[test]
fn without_the_setting_no_counts_are_written() {
    let envoy = envoy(r#"{"cluster":"kube_api"}"#, &Kube::new());
    serve(&envoy.worker(), 3);
    settle(&envoy);
    let shared = envoy.shared_data("burst-metrics/");
    assert!(shared.keys().all(|key| !key.contains("/requests/")), "{shared:?}");
}

#[test]
fn the_counts_of_a_dead_thread_expire_and_its_successor_starts_at_zero() {
    let envoy = envoy(COUNTING, &Kube::new()).failure_policy(FailurePolicy::Reload);
    let (_main, one, two) = (envoy.main_thread(), envoy.worker(), envoy.worker());
    settle(&envoy);
    serve(&one, 10);
    serve(&two, 5);
    settle(&envoy);
    one.kill();
    settle(&envoy);
    assert_eq!(web(&envoy), Some((15, 0)), "the counts have not expired yet");
    envoy.advance(EXPIRY).answer();
    assert_eq!(web(&envoy), Some((5, 0)));
    serve(&one, 2);
    assert!(one.alive(), "the first request reloads the VM");
    settle(&envoy);
    assert_eq!(web(&envoy), Some((7, 0)));
}

#[test]
fn threads_that_die_repeatedly_do_not_accumulate_keys() {
    let envoy = envoy(COUNTING, &Kube::new());
    let (_main, worker) = (envoy.main_thread(), envoy.worker());
    for _ in 0..10 {
        serve(&worker, 1);
        envoy.advance(EXPIRY).answer();
        worker.kill();
        envoy.advance(EXPIRY).answer();
    }
    let shared = envoy.shared_data("burst-metrics/");
    let vms = shared.keys().filter(|key| key.contains("/requests/vm/")).count();
    assert_eq!(vms, 2, "{:?}", shared.keys());
}

#[test]
fn a_new_leader_continues_with_the_same_counts() {
    let envoy = envoy(COUNTING, &Kube::new());
    let (main, worker) = (envoy.main_thread(), envoy.worker());
    main.tick().answer();
    serve(&worker, 10);
    settle(&envoy);
    assert_eq!(web(&envoy), Some((10, 0)));
    main.kill();
    envoy.advance(Duration::from_secs(12)).answer();
    serve(&worker, 1);
    settle(&envoy);
    assert_eq!(web(&envoy), Some((11, 0)));
}

#[test]
fn two_configurations_in_one_thread_count_each_request_once() {
    let envoy = envoy(COUNTING, &Kube::new());
    let worker = envoy.worker();
    let old = worker.root();
    settle(&envoy);
    let renamed = COUNTING.replace("\"cluster\"", "\"header\":{\"name\":\"x-new\"},\"cluster\"");
    let new = worker.configure(renamed).unwrap();
    let through = |root, requests| {
        for _ in 0..requests {
            worker.request_through(root, Request::get("/"), Route::istio("web", "shop"));
        }
    };
    through(old, 4);
    through(new, 6);
    let open = worker.open(Request::get("/"), Route::istio("web", "shop"));
    settle(&envoy);
    assert_eq!(web(&envoy), Some((10, 0)), "both configurations count");
    open.finish();
    worker.retire(old);
    envoy.advance(EXPIRY).answer();
    through(new, 1);
    settle(&envoy);
    assert_eq!(web(&envoy), Some((12, 0)), "the new configuration continues the counts");
}

#[test]
fn counts_under_other_settings_are_kept_apart() {
    let envoy = envoy(COUNTING, &Kube::new());
    let worker = envoy.worker();
    let old = worker.root();
    settle(&envoy);
    serve(&worker, 4);
    settle(&envoy);
    let mapped =
        r#"{"cluster":"kube_api","clusters":[{"name":"{service}.{namespace}"}],"requests":{"report_interval":"1s"}}"#;
    worker.configure(mapped).unwrap();
    worker.retire(old);
    envoy.advance(Duration::from_secs(60)).answer();
    worker.request(Request::get("/"), Route::to("web.shop"));
    settle(&envoy);
    let shared = envoy.shared_data("burst-metrics/");
    let sums = shared.iter().filter(|(key, _)| key.ends_with("/requests/sum"));
    let mut counts: Vec<_> = sums
        .map(|(_, bytes)| Tally::parse(bytes).unwrap().services[0].1.requests)
        .collect();
    counts.sort_unstable();
    assert_eq!(counts, [1, 4], "the counts under the old settings are not read");
}
