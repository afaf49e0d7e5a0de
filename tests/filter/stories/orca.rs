//! The load report on responses.

use super::kube::Kube;
use super::quarantine::trap_on_reading;
use super::{FULL, HEADER_ONLY, SECOND, envoy};
use crate::host::{FakeEnvoy, Module, Request, Response, Route, Vm};
use burst_model::quarantine::ItemKind;
use std::sync::atomic::Ordering;

const REPORT: &str = "TEXT application_utilization=0.2,named_metrics.burst.current=1,named_metrics.burst.target=4,\
                      named_metrics.burst.max=5,named_metrics.burst.utilization=0.2";
const JSON: &str = r#"JSON {"application_utilization":0.2,"named_metrics":{"burst.current":1,"burst.target":4,"burst.max":5,"burst.utilization":0.2}}"#;

/// The report of an upstream.
const OWN: &str = "TEXT cpu_utilization=0.5";

fn configuration(keys: &str) -> String {
    format!(r#"{{"cluster":"kube_api","sync":{{"mode":"list"}},"poll_interval":"1s",{keys}}}"#)
}

/// A proxy with that configuration of `orca` that has read its cluster.
fn synced(orca: &str, kube: &Kube) -> FakeEnvoy {
    let envoy = envoy(&configuration(&format!(r#""orca":{orca}"#)), kube);
    envoy.worker();
    envoy.advance(SECOND).answer();
    envoy
}

/// The reports on the response to a request: in text, and in the binary header.
fn reports(envoy: &FakeEnvoy, request: Request, route: Route) -> [Option<String>; 2] {
    let seen = envoy.vms()[0].request(request, route);
    ["endpoint-load-metrics", "endpoint-load-metrics-bin"].map(|name| seen.header(name).map(str::to_owned))
}

fn report(envoy: &FakeEnvoy, request: Request, route: Route) -> Option<String> {
    let [text, _] = reports(envoy, request, route);
    text
}

fn web() -> Route {
    Route::istio("web", "shop")
}

fn with_own() -> Route {
    web().answering(Response::ok().header("endpoint-load-metrics", OWN))
}

fn asking(format: &str) -> Request {
    Request::get("/").header("endpoint-load-metrics-format", format)
}

/// Checks the counts of the stats `burst_orca_…_total` that are not 0.
#[track_caller]
fn check_counts(envoy: &FakeEnvoy, counts: &[(&str, u64)]) {
    envoy.advance(SECOND).answer();
    let all = ["added", "absent", "upstream_kept", "upstream_invalid", "dry_run"];
    let counted = all.map(|name| (name, envoy.stat(&format!("burst_orca_{name}_total")).unwrap()));
    let counted: Vec<_> = counted.into_iter().filter(|(_, count)| *count > 0).collect();
    assert_eq!(counted, counts);
}

#[test]
fn a_request_that_asks_gets_the_report_in_the_format_that_it_names() {
    let envoy = synced(r#"{"format":"json"}"#, &Kube::new());
    for (format, expected) in [("text", REPORT), ("JSON", JSON), ("bin", JSON), ("", JSON)] {
        assert_eq!(
            report(&envoy, asking(format), web()).as_deref(),
            Some(expected),
            "{format}"
        );
    }
    assert_eq!(report(&envoy, Request::get("/"), web()), None);
    assert_eq!(
        report(&envoy, Request::get("/"), with_own()),
        None,
        "that of the upstream is for the gateway"
    );
    let own_reply = Request::get("/burstmetrics/services").header("endpoint-load-metrics-format", "text");
    assert_eq!(
        report(&envoy, own_reply, web()),
        None,
        "a reply of the filter has no load"
    );
    check_counts(&envoy, &[("added", 4)]);
}

#[test]
fn the_report_of_the_upstream_is_replaced_kept_or_merged() {
    let route = |name, value| web().answering(Response::ok().header(name, value));
    let own = || route("endpoint-load-metrics", OWN);
    let binary = || route("endpoint-load-metrics-bin", "CQAAAAAAAOA/");
    let damaged = || route("endpoint-load-metrics", "TEXT cpu_utilization");
    let merged = format!("{OWN},{}", REPORT.strip_prefix("TEXT ").unwrap());
    for (upstream, [to_own, to_binary, to_damaged], counts) in [
        (
            "replace",
            [(Some(REPORT), None), (Some(REPORT), None), (Some(REPORT), None)],
            &[("added", 4)][..],
        ),
        (
            "keep",
            [
                (Some(OWN), None),
                (None, Some("CQAAAAAAAOA/")),
                (Some("TEXT cpu_utilization"), None),
            ],
            &[("added", 1), ("upstream_kept", 3)],
        ),
        (
            "merge",
            [
                (Some(merged.as_str()), None),
                (None, Some("CQAAAAAAAOA/")),
                (Some(REPORT), None),
            ],
            &[("added", 2), ("upstream_kept", 1), ("upstream_invalid", 1)],
        ),
    ] {
        let envoy = synced(&format!(r#"{{"when":"always","upstream":"{upstream}"}}"#), &Kube::new());
        for (route, (text, binary)) in [(own(), to_own), (binary(), to_binary), (damaged(), to_damaged)] {
            let shown = format!("{upstream}: {route:?}");
            let expected = [text, binary].map(|value| value.map(str::to_owned));
            assert_eq!(reports(&envoy, Request::get("/"), route), expected, "{shown}");
        }
        assert_eq!(
            report(&envoy, Request::get("/"), web()).as_deref(),
            Some(REPORT),
            "{upstream}"
        );
        check_counts(&envoy, counts);
    }
}

#[test]
fn a_report_disappears_while_the_snapshot_is_stale_and_for_what_has_no_replicas() {
    let kube = Kube::new().with("shop/idle", 0, 5);
    let envoy = synced(r#"{"when":"always","upstream":"keep"}"#, &kube);
    assert_eq!(report(&envoy, Request::get("/"), web()).as_deref(), Some(REPORT));
    for route in [
        Route::istio("idle", "shop"),
        Route::istio("other", "shop"),
        Route::to("PassthroughCluster"),
    ] {
        let shown = format!("{route:?}");
        assert_eq!(report(&envoy, Request::get("/"), route), None, "{shown}");
    }
    check_counts(&envoy, &[("added", 1), ("absent", 3)]);
    for resource in ["horizontalpodautoscalers", "services", "deployments", "statefulsets"] {
        kube.fail(resource, || Response::status(500));
    }
    envoy.advance(SECOND * 70).answer();
    assert_eq!(report(&envoy, Request::get("/"), web()), None);
    assert_eq!(
        report(&envoy, Request::get("/"), with_own()).as_deref(),
        Some(OWN),
        "as without the filter"
    );
    kube.heal();
    kube.scale("shop/web", 5);
    envoy.advance(SECOND * 40).answer();
    let full = report(&envoy, Request::get("/"), web()).unwrap();
    assert!(
        full.starts_with("TEXT application_utilization=0.99,named_metrics.burst.current=5,"),
        "{full}"
    );
}

#[test]
fn a_dry_run_counts_and_changes_nothing() {
    let envoy = synced(r#"{"when":"always","dry_run":true}"#, &Kube::new());
    assert_eq!(report(&envoy, Request::get("/"), web()), None);
    assert_eq!(report(&envoy, Request::get("/"), with_own()).as_deref(), Some(OWN));
    check_counts(&envoy, &[("dry_run", 2)]);
}

#[test]
fn a_report_has_the_rates_of_the_whole_proxy_once_they_cover_a_window() {
    let keys = r#""orca":{"when":"always"},"requests":{"window":"10s","report_interval":"1s"}"#;
    let envoy = envoy(&configuration(keys), &Kube::new());
    let workers = [envoy.worker(), envoy.worker()];
    let rejected = || web().answering(Response::status(503));
    let begin = |metrics: &str| format!("TEXT application_utilization=0.2{metrics},named_metrics.burst.current=1,");
    let first = || report(&envoy, Request::get("/"), web()).unwrap();
    envoy.advance(SECOND * 5).answer();
    assert!(first().starts_with(&begin("")), "{}", first());
    for _ in 0..30 {
        for worker in &workers {
            (0..4).for_each(|_| drop(worker.request(Request::get("/"), web())));
        }
        workers[1].request(Request::get("/"), rejected());
        envoy.advance(SECOND).answer();
    }
    let seen = first();
    let metrics = seen.split(',').filter_map(|metric| metric.split_once('='));
    let of = |name: &str| metrics.clone().find(|(key, _)| *key == name)?.1.parse::<f64>().ok();
    let (rate, errors) = (of("rps_fractional").unwrap(), of("eps").unwrap());
    assert!((8.5..9.5).contains(&rate) && (0.9..1.1).contains(&errors), "{seen}");
    envoy.advance(SECOND * 20).answer();
    assert!(first().starts_with(&begin("")), "no request: {}", first());
}

#[test]
fn the_header_only_module_reports_on_every_response() {
    let start = |module: Module, keys: &str| {
        let kube = Kube::new();
        let envoy = FakeEnvoy::new(module).config(configuration(keys)).cluster("kube_api");
        envoy.kube(move |callout| kube.answer(callout))
    };
    for module in [FULL, HEADER_ONLY] {
        let envoy = start(module, r#""orca":{"when":"always","format":"json"}"#);
        envoy.worker();
        envoy.advance(SECOND).answer();
        assert_eq!(report(&envoy, Request::get("/"), web()).as_deref(), Some(JSON));
    }
}

#[test]
fn a_sum_of_requests_that_traps_costs_reports_their_rates_and_not_every_thread() {
    let keys = r#""orca":{"when":"always"},"requests":{"window":"10s","report_interval":"1s"}"#;
    let envoy = envoy(&configuration(keys), &Kube::new());
    let workers = [envoy.worker(), envoy.worker()];
    let serve = |seconds: usize| {
        for _ in 0..seconds {
            workers
                .iter()
                .for_each(|worker| drop(worker.request(Request::get("/"), web())));
            envoy.advance(SECOND).answer();
        }
    };
    let has_rate = || report(&envoy, Request::get("/"), web()).is_some_and(|seen| seen.contains("rps_fractional="));
    serve(20);
    assert!(has_rate());
    let (traps, armed) = trap_on_reading(&envoy, |item| item.kind == ItemKind::RequestSum);
    serve(60);
    let in_a_minute = traps.load(Ordering::Relaxed);
    assert!((1..=5).contains(&in_a_minute), "{in_a_minute} traps");
    armed.store(false, Ordering::Relaxed);
    serve(90);
    assert!(workers.iter().all(Vm::alive) && has_rate());
}
