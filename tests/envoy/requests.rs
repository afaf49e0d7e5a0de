//! Requests, counted by every worker and told to the hub.

use burst_model::rates::Count;
use burst_testkit::Version;
use serde_json::{Value, json};

use crate::stage::{Client, Connection, Module, Pki, Plugin, Proxy, Reports, Request, SILENT, World, cluster};

on_each_envoy!(
    what_all_workers_saw_is_told_to_the_hub,
    a_service_without_hosts_has_its_requests_counted_as_rejected,
    requests_under_way_are_counted_until_they_end,
    a_new_configuration_goes_on_counting,
    a_worker_that_trapped_counts_again,
    the_hub_takes_reports_over_mutual_tls_and_forgets_a_proxy_that_is_gone,
    reports_are_taken_nowhere_else,
);

const WEB: &str = "ngsa-svc-1.default";

/// Counting with the shortest interval, and a window in which every request of a story is still there at its end.
fn counting(more: Value) -> Value {
    let mut requests = json!({"window": "5m", "report_interval": "1s"});
    match (&mut requests, more) {
        (Value::Object(all), Value::Object(more)) => all.extend(more),
        (_, more) => panic!("{more} are no keys"),
    }
    json!({"requests": requests})
}

fn telling() -> Value {
    counting(json!({"hub": {"cluster": "hub"}}))
}

/// A proxy with one listener, that tells a hub that only listens.
fn start(version: Version, world: &World, module: Module) -> (Proxy, Client, Reports) {
    let reports = Reports::start();
    let proxy = Proxy::of(version)
        .plugin(Plugin::new("main", telling()).module(module))
        .cluster(cluster("hub", reports.addr().port()))
        .cluster(json!({"name": "empty.default", "load_assignment": {"cluster_name": "empty.default"}}))
        .start(world);
    let client = proxy.client("main");
    (proxy, client, reports)
}

fn what_all_workers_saw_is_told_to_the_hub(version: Version) {
    let world = World::sample();
    let (proxy, mut main, reports) = start(version, &world, Module::Full);
    for _ in 0..25 {
        assert_eq!(main.ask(&Request::to(WEB)).status, 200);
    }
    assert_eq!(main.ask(&Request::to("queue.data")).status, 200);
    assert_eq!(main.ask(&Request::to("elsewhere")).status, 200);
    let exactly = |requests| move |count: Count| (count.requests, count.rejected) == (requests, 0);
    reports.wait_for("default/ngsa-svc-1", "both workers' requests", exactly(50));
    reports.wait_for("data/queue", "another service's", exactly(2));
    assert_eq!(reports.of("default/elsewhere"), None);
    proxy.wait_for_stat("burst_report_ok_total", |sent| sent >= 2);
    assert_eq!(proxy.stat("burst_report_failed_total"), 0);
}

fn a_service_without_hosts_has_its_requests_counted_as_rejected(version: Version) {
    let world = World::sample();
    let (_proxy, mut main, reports) = start(version, &world, Module::Full);
    for _ in 0..5 {
        assert_eq!(main.ask(&Request::to("empty.default")).status, 503);
    }
    reports.wait_for("default/empty", "all of them rejected", |count| {
        (count.requests, count.rejected) == (10, 10)
    });
}

fn requests_under_way_are_counted_until_they_end(version: Version) {
    let world = World::sample();
    let reports = Reports::start();
    let shortest = counting(json!({"hub": {"cluster": "hub"}, "window": "10s"}));
    let proxy = Proxy::of(version)
        .listener("main", shortest)
        .cluster(cluster("hub", reports.addr().port()))
        .start(&world);
    let address = proxy.envoy.listener("main");
    let mut open: Vec<_> = (0..3)
        .map(|_| Connection::open(address).expect("a connection"))
        .collect();
    for connection in &mut open {
        connection.send(&Request::get(SILENT).through(WEB)).expect("a request");
    }
    let in_flight = |milli| move |count: Count| count.requests == 0 && count.in_flight_milli == Some(milli);
    reports.wait_for("default/ngsa-svc-1", "three all the time", in_flight(3_000));
    drop(open);
    reports.wait_for("default/ngsa-svc-1", "none all the time", in_flight(0));
}

fn a_new_configuration_goes_on_counting(version: Version) {
    let world = World::sample();
    let (proxy, mut old, reports) = start(version, &world, Module::Full);
    for _ in 0..5 {
        old.ask(&Request::to(WEB));
    }
    reports.wait_for("default/ngsa-svc-1", "the old one's", |count| count.requests == 10);
    let mut renamed = telling();
    renamed["header"] = json!({"name": "x-new"});
    proxy.replace_listeners(&[Plugin::new("main", renamed.clone()), Plugin::new("more", renamed)]);
    let mut new = proxy.client("more");
    for _ in 0..5 {
        new.ask(&Request::to(WEB));
    }
    reports.wait_for("default/ngsa-svc-1", "those of both, once", |count| {
        count.requests == 20
    });
}

fn a_worker_that_trapped_counts_again(version: Version) {
    let world = World::sample();
    let (_proxy, mut main, reports) = start(version, &world, Module::Trap);
    for _ in 0..5 {
        main.ask(&Request::to(WEB));
    }
    reports.wait_for("default/ngsa-svc-1", "before", |count| count.requests == 10);
    for answer in main.ask_each(&Request::to(WEB).header("x-burst-test-trap", "1")) {
        assert_eq!(answer.status, 503, "{answer:?}");
    }
    main.wait(&Request::to(WEB), "rebuilt workers", |answer| answer.status == 200);
    let known = std::cell::Cell::new(u64::MAX);
    reports.wait_for("default/ngsa-svc-1", "what the dead ones counted ages out", |count| {
        known.set(count.requests);
        count.requests < 10
    });
    main.ask(&Request::to(WEB));
    reports.wait_for("default/ngsa-svc-1", "and the new ones go on", |count| {
        count.requests == known.get() + 2
    });
}

fn the_hub_takes_reports_over_mutual_tls_and_forgets_a_proxy_that_is_gone(version: Version) {
    let (world, pki) = (World::sample(), Pki::new("burst-hub"));
    let accepting = counting(json!({"accept": {"filter_chain": "reports"}}));
    let hub = Proxy::of(version)
        .plugin(Plugin::new("main", accepting.clone()))
        .plugin(Plugin::new("hub", accepting).filter_chain("reports").mutual_tls(&pki))
        .start(&world);
    let gateway = || {
        let to_hub = pki.over(cluster("hub", hub.envoy.listener("hub").port()));
        Proxy::of(version)
            .listener("main", telling())
            .cluster(to_hub)
            .start(&world)
    };
    let (one, two) = (gateway(), gateway());
    hub.wait_for_stat("burst_hub_proxies", |proxies| proxies == 3);
    one.wait_for_stat("burst_report_ok_total", |sent| sent >= 2);
    drop(two);
    hub.wait_for_stat("burst_hub_proxies", |proxies| proxies == 2);
    assert_eq!(hub.wait_for_stat("burst_hub_report_late_total", |late| late > 0), 1);
    assert_eq!(hub.stat("burst_hub_report_refused_total"), 0);
    assert_eq!(one.stat("burst_report_failed_total"), 0);
}

fn reports_are_taken_nowhere_else(version: Version) {
    let world = World::sample();
    let accepting = counting(json!({"accept": {"filter_chain": "reports"}}));
    let hub = Proxy::of(version)
        .plugin(Plugin::new("public", accepting.clone()))
        .plugin(Plugin::new("plain", accepting).filter_chain("reports"))
        .start(&world);
    let share = "1;0000000000000007;500;30000;default/ngsa-svc-1=5,0";
    let report = Request::of("POST", "/burst-metrics/report")
        .through(WEB)
        .header("x-burst-report", share);
    let public = hub.client("public").ask(&report);
    assert_eq!(
        (public.status, public.body.as_str()),
        (200, "hello\n"),
        "it is the upstream's"
    );
    let plain = hub.client("plain").ask(&report);
    assert_eq!(
        (plain.status, plain.body.as_str()),
        (403, "a report must come over mutual TLS\n")
    );
    hub.wait_for_stat("burst_hub_report_refused_total", |refused| refused == 2);
    assert_eq!(hub.stat("burst_hub_report_taken_total"), 0);
}
