//! Requests that overflow to another cluster.

use super::kube::Kube;
use super::requests::sum;
use super::{SECOND, envoy, logged};
use crate::host::{FakeEnvoy, Request, Response, Route, Vm};
use std::collections::BTreeSet;
use std::time::Duration;

const HEADER: &str = "x-burst-overflow";
const CLIENTS: usize = 200;
const TOO_OLD: &str = "no request overflows to another cluster: the snapshot is too old";

fn configuration(overflow: &str) -> String {
    let poll = r#""sync":{"mode":"list"},"poll_interval":"1s""#;
    format!(r#"{{"cluster":"kube_api",{poll},"requests":{{"report_interval":"1s"}},"overflow":{overflow}}}"#)
}

/// A proxy with a worker, before a service at its maximum.
fn full(overflow: &str) -> (FakeEnvoy, Kube, Vm) {
    let kube = Kube::new().with("shop/web", 10, 10);
    kube.set_status("shop/web", 10, 200);
    let envoy = envoy(&configuration(overflow), &kube);
    let worker = envoy.worker();
    envoy.advance(SECOND).answer();
    (envoy, kube, worker)
}

const BY_USER: &str = r#"{"key":{"header":"x-user"},"ramp":"5s"}"#;

/// To the service, and with the header to the other cluster.
fn routes() -> Route {
    let program = |name: &str| Response::ok().header("x-program", name);
    let other = Route::to("other-cluster").answering(program("other"));
    let here = Route::istio("web", "shop").answering(program("here"));
    here.or_with(HEADER, other)
}

fn program(worker: &Vm, request: Request) -> String {
    let seen = worker.request(request, routes());
    seen.header("x-program").expect("the upstream answers").to_owned()
}

fn of_user(number: usize) -> Request {
    Request::get("/").header("x-user", format!("user-{number}"))
}

/// The users whose requests go to the other cluster.
fn away(worker: &Vm) -> BTreeSet<usize> {
    (0..CLIENTS)
        .filter(|user| program(worker, of_user(*user)) == "other")
        .collect()
}

/// So many seconds in which each worker has requests.
fn serve(envoy: &FakeEnvoy, seconds: usize) {
    for _ in 0..seconds {
        envoy.advance(SECOND).answer();
        for worker in envoy.vms() {
            program(&worker, of_user(0));
        }
    }
}

#[test]
fn the_share_grows_with_the_excess_a_client_stays_and_it_returns_to_zero() {
    let (envoy, kube, worker) = full(BY_USER);
    let other_worker = envoy.worker();
    for worker in [&worker, &other_worker] {
        assert_eq!(away(worker), BTreeSet::new());
    }
    let (mut before, mut grown) = (BTreeSet::new(), 0);
    for _ in 0..6 {
        serve(&envoy, 1);
        let now = away(&worker);
        assert!(now.is_superset(&before), "nobody comes back while the share grows");
        grown += usize::from(now.len() > before.len());
        before = now;
    }
    assert!(
        grown >= 5 && before.len() > CLIENTS / 3,
        "{grown} times to {}",
        before.len()
    );
    assert_eq!(away(&other_worker), before, "all workers choose the same clients");
    assert!(envoy.stat("burst_overflow_sent_total") > Some(0));
    kube.set_status("shop/web", 10, 50);
    serve(&envoy, 30);
    assert_eq!(away(&worker), BTreeSet::new());
    let before = envoy.stat("burst_overflow_sent_total");
    serve(&envoy, 2);
    assert_eq!(envoy.stat("burst_overflow_sent_total"), before);
}

#[test]
fn what_a_client_sends_in_the_header_is_removed_and_changes_nothing() {
    for overflow in [BY_USER, r#"{"key":{"header":"x-user"},"dry_run":true}"#] {
        let (envoy, kube, worker) = full(overflow);
        let asks_for_it = |value: &str| program(&worker, of_user(1).header(HEADER, value));
        kube.set_status("shop/web", 10, 10);
        serve(&envoy, 3);
        for value in ["1", "", "0"] {
            assert_eq!(asks_for_it(value), "here", "below the mark, {value:?}");
        }
        assert_eq!(
            program(&worker, of_user(1).header(HEADER, "1").header(HEADER, "2")),
            "here",
            "several"
        );
        kube.fail("horizontalpodautoscalers", || Response::status(500));
        envoy.advance(Duration::from_secs(90)).answer();
        assert_eq!(asks_for_it("1"), "here", "stale");
        envoy.advance(SECOND).answer();
        assert_eq!(envoy.stat("burst_overflow_removed_total"), Some(5));
    }
}

#[test]
fn a_request_that_another_cluster_has_sent_here_stays() {
    let (envoy, _kube, worker) = full(BY_USER);
    serve(&envoy, 30);
    let away = away(&worker);
    assert!(away.len() > CLIENTS / 2);
    for user in away {
        assert_eq!(program(&worker, of_user(user).header(HEADER, "1")), "here");
    }
}

#[test]
fn nothing_overflows_while_the_service_behind_the_route_is_not_known() {
    let (envoy, _kube, worker) = full(BY_USER);
    serve(&envoy, 30);
    let program = |name: &str| Response::ok().header("x-program", name);
    for cluster in ["httproute/shop/web/rule/0", "PassthroughCluster", "elsewhere"] {
        for user in 0..CLIENTS {
            let other = Route::to("other-cluster").answering(program("other"));
            let here = Route::to(cluster).answering(program("here")).or_with(HEADER, other);
            let seen = worker.request(of_user(user), here);
            assert_eq!(seen.header("x-program"), Some("here"), "{cluster}");
        }
    }
}

#[test]
fn a_dry_run_counts_and_sends_nothing_away() {
    let (envoy, _kube, worker) = full(r#"{"key":{"header":"x-user"},"ramp":"5s","dry_run":true}"#);
    serve(&envoy, 60);
    let counted = || envoy.stat("burst_overflow_dry_run_total").unwrap_or_default();
    let before = counted();
    assert_eq!(away(&worker), BTreeSet::new());
    envoy.advance(SECOND).answer();
    let would = counted() - before;
    // 20 are wanted, and 9 are the mark.
    assert!((90..=130).contains(&would), "{would} of {CLIENTS}");
    assert_eq!(envoy.stat("burst_overflow_sent_total").unwrap_or_default(), 0);
}

#[test]
fn nothing_overflows_by_stale_numbers_and_that_is_logged_once() {
    let (envoy, kube, worker) = full(BY_USER);
    serve(&envoy, 20);
    assert!(!away(&worker).is_empty());
    kube.fail("horizontalpodautoscalers", || Response::status(500));
    kube.fail("services", || Response::status(500));
    kube.fail("deployments", || Response::status(500));
    kube.fail("statefulsets", || Response::status(500));
    envoy.advance(Duration::from_secs(90)).answer();
    assert_eq!(away(&worker), BTreeSet::new());
    envoy.advance(SECOND).answer();
    assert_eq!(envoy.stat("burst_overflow_stale_total"), Some(CLIENTS as u64));
    let lines = |line: &str| logged(&envoy).iter().filter(|logged| *logged == line).count();
    assert_eq!(lines(TOO_OLD), 1);
    kube.heal();
    serve(&envoy, 40);
    assert!(!away(&worker).is_empty());
    assert_eq!(lines(TOO_OLD), 1);
    assert_eq!(lines("requests can overflow to another cluster again"), 1);
}

#[test]
fn without_the_configured_header_the_address_of_the_client_counts_and_not_its_port() {
    for overflow in [BY_USER, r#"{"ramp":"5s"}"#] {
        let (envoy, _kube, worker) = full(overflow);
        serve(&envoy, 10);
        let program = |address: &str| {
            let from = |route: Route| route.property(&["source", "address"], address);
            let seen = worker.request(Request::get("/"), from(routes()));
            seen.header("x-program").unwrap().to_owned()
        };
        let mut programs = BTreeSet::new();
        for host in 0..20 {
            for address in [format!("10.0.0.{host}"), format!("[fd00::{host}]")] {
                let [one, two] = [1024, 65535].map(|port| program(&format!("{address}:{port}")));
                assert_eq!(one, two, "{address}");
                programs.insert(one);
            }
        }
        assert_eq!(programs.len(), 2, "some stay and some do not: {programs:?}");
    }
}

#[test]
fn requests_that_overflow_are_not_in_flight_at_the_service() {
    let (envoy, _kube, worker) = full(BY_USER);
    serve(&envoy, 30);
    let away = away(&worker);
    assert!(!away.is_empty());
    let open: Vec<_> = away.iter().map(|user| worker.open(of_user(*user), routes())).collect();
    envoy.advance(3 * SECOND).answer();
    let in_flight = sum(&envoy).unwrap()["shop/web"].in_flight_milli;
    assert_eq!(in_flight, Some(0));
    open.into_iter().for_each(|stream| drop(stream.finish()));
}

#[test]
fn a_request_costs_two_host_calls_while_nothing_overflows() {
    let calls = |more: &str| {
        let configuration = format!(r#"{{"cluster":"kube_api"{more}}}"#);
        let envoy = envoy(&configuration, &Kube::new());
        let worker = envoy.worker();
        envoy.advance(SECOND).answer();
        worker.request(Request::get("/"), routes());
        let before = worker.host_calls();
        worker.request(Request::get("/"), routes());
        worker.host_calls() - before
    };
    assert_eq!(calls(r#","overflow":{}"#) - calls(""), 2, "the header, and the cluster");
}
