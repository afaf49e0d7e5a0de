//! Requests, counted by every worker and told to the hub.

use burst_model::request_rates::{RequestCounts, report::ReportFailure};
use burst_testkit::{Version, wait};
use serde_json::{Value, json};

use crate::stage::{
    Client, Connection, Module, PATIENCE, Pki, Plugin, Proxy, Reports, Request, SILENT, World, cluster,
};

on_each_envoy!(
    what_all_workers_saw_is_told_to_the_hub,
    a_service_without_hosts_has_its_requests_counted_as_rejected,
    requests_under_way_are_counted_until_they_end,
    a_new_configuration_goes_on_counting,
    a_worker_that_trapped_counts_again,
    the_hub_takes_reports_over_mutual_tls_and_forgets_a_proxy_that_is_gone,
    the_metrics_apis_of_the_hub_tell_the_sum_of_all_proxies,
    reports_are_taken_nowhere_else,
    a_report_of_many_services_takes_a_hub_that_allows_it,
);

const WEB: &str = "ngsa-svc-1.default";

/// What the log says where a report failed, once for each change of the reason.
const UNREPORTED: &str = "the hub does not know the requests of this proxy: ";

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

/// Requests to each worker. Whether they carry the header yet is another story.
#[track_caller]
fn serve(client: &mut Client, times: usize, cluster: &str) {
    for answer in (0..times).flat_map(|_| client.ask_each(&Request::to(cluster))) {
        assert_eq!(answer.status, 200, "{answer:?}");
    }
}

fn what_all_workers_saw_is_told_to_the_hub(version: Version) {
    let world = World::sample();
    let (proxy, mut main, reports) = start(version, &world, Module::Full);
    serve(&mut main, 25, WEB);
    serve(&mut main, 1, "queue.data");
    serve(&mut main, 1, "elsewhere");
    let exactly = |requests| move |count: RequestCounts| (count.requests, count.rejected) == (requests, 0);
    reports.wait_for("default/ngsa-svc-1", "both workers' requests", exactly(50));
    reports.wait_for("data/queue", "another service's", exactly(2));
    assert_eq!(reports.of("default/elsewhere"), None);
    proxy.wait_for_stat("burst_report_ok_total", |sent| sent >= 2);
    nobody_refused_a_report(&proxy);
}

/// Sees that no report failed. One that took longer than the two seconds it has is no fault of the proxies': the machine
/// had other things to do.
#[track_caller]
fn nobody_refused_a_report(proxy: &Proxy) {
    // A line comes before its count.
    let failed = proxy.stat("burst_report_failed_total");
    let told = proxy.log_lines(UNREPORTED);
    let late = ReportFailure::Timeout.to_string();
    assert!(told.iter().all(|line| line.ends_with(&late)), "{told:#?}");
    assert!(failed == 0 || !told.is_empty(), "{failed} failed");
}

fn a_service_without_hosts_has_its_requests_counted_as_rejected(version: Version) {
    let world = World::sample();
    let (_proxy, mut main, reports) = start(version, &world, Module::Full);
    for answer in (0..5).flat_map(|_| main.ask_each(&Request::to("empty.default"))) {
        assert_eq!(answer.status, 503, "{answer:?}");
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
    let in_flight = |milli| move |count: RequestCounts| count.requests == 0 && count.in_flight_milli == Some(milli);
    reports.wait_for("default/ngsa-svc-1", "three all the time", in_flight(3_000));
    drop(open);
    reports.wait_for("default/ngsa-svc-1", "none all the time", in_flight(0));
}

fn a_new_configuration_goes_on_counting(version: Version) {
    let world = World::sample();
    let (proxy, mut old, reports) = start(version, &world, Module::Full);
    serve(&mut old, 5, WEB);
    reports.wait_for("default/ngsa-svc-1", "the old one's", |count| count.requests == 10);
    let mut renamed = telling();
    renamed["header"] = json!({"name": "x-new"});
    proxy.replace_listeners(&[Plugin::new("main", renamed.clone()), Plugin::new("more", renamed)]);
    let mut new = proxy.client("more");
    serve(&mut new, 5, WEB);
    reports.wait_for("default/ngsa-svc-1", "those of both, once", |count| {
        count.requests == 20
    });
}

/// Than are asked while a worker is rebuilt.
const MANY_MORE: usize = 300;

fn a_worker_that_trapped_counts_again(version: Version) {
    let world = World::sample();
    let (_proxy, mut main, reports) = start(version, &world, Module::Trap);
    serve(&mut main, MANY_MORE, WEB);
    reports.wait_for("default/ngsa-svc-1", "before", |count| {
        count.requests == 2 * MANY_MORE as u64
    });
    for answer in main.ask_each(&Request::to(WEB).header("x-burst-test-trap", "1")) {
        assert_eq!(answer.status, 503, "{answer:?}");
    }
    let mut served = 0;
    wait::until(PATIENCE, "rebuilt workers", || {
        let answers = main.ask_each(&Request::to(WEB));
        let good = answers.iter().filter(|answer| answer.status == 200).count();
        served += good as u64;
        good == answers.len()
    });
    let exactly = |requests| move |count: RequestCounts| count.requests == requests;
    reports.wait_for(
        "default/ngsa-svc-1",
        "what the dead ones counted ages out",
        exactly(served),
    );
    serve(&mut main, 1, WEB);
    reports.wait_for("default/ngsa-svc-1", "and the new ones go on", exactly(served + 2));
}

fn the_hub_takes_reports_over_mutual_tls_and_forgets_a_proxy_that_is_gone(version: Version) {
    let (world, pki) = (World::sample(), Pki::new("burst-hub"));
    // So that nobody's report is late but the one's who is gone.
    let unhurried = |mut keys: Value| {
        keys["requests"]["report_interval"] = "3s".into();
        keys
    };
    let accepting = unhurried(counting(json!({"accept": {"filter_chain": "reports"}})));
    let hub = Proxy::of(version)
        .plugin(Plugin::new("main", accepting.clone()))
        .plugin(Plugin::new("hub", accepting).filter_chain("reports").mutual_tls(&pki))
        .start(&world);
    let gateway = || {
        let to_hub = pki.over(cluster("hub", hub.envoy.listener("hub").port()));
        Proxy::of(version)
            .listener("main", unhurried(telling()))
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
    nobody_refused_a_report(&one);
}

fn the_metrics_apis_of_the_hub_tell_the_sum_of_all_proxies(version: Version) {
    const METRIC: &str =
        "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default/services/ngsa-svc-1/burst_requests_per_second";
    let (world, pki) = (World::sample(), Pki::new("burst-hub"));
    let window = json!({"window": "40s"});
    let mut serving = counting(window.clone());
    serving["requests"]["accept"] = json!({"filter_chain": "reports"});
    serving["metrics_apis"] = json!({"filter_chain": "apis", "insecure_loopback_demo": true});
    let hub = Proxy::of(version)
        .plugin(Plugin::new("apis", serving.clone()).filter_chain("apis"))
        .plugin(Plugin::new("hub", serving).filter_chain("reports").mutual_tls(&pki))
        .start(&world);
    let mut telling = counting(window);
    telling["requests"]["hub"] = json!({"cluster": "hub"});
    let gateway = || {
        let to_hub = pki.over(cluster("hub", hub.envoy.listener("hub").port()));
        Proxy::of(version)
            .listener("main", telling.clone())
            .cluster(to_hub)
            .start(&world)
    };
    let (one, two) = (gateway(), gateway());
    let question = Request::get(METRIC).header("x-remote-user", "system:kube-aggregator");
    let mut apis = hub.client("apis");
    apis.wait(&question, "none yet, and not unknown any more", |answer| {
        milli(&answer.body) == Some(0)
    });
    for gateway in [&one, &two] {
        serve(&mut gateway.client("main"), 20, WEB);
    }
    // 80 requests over 40 s; a window may be longer by a step and a late tick.
    apis.wait(&question, "the requests of both", |answer| {
        milli(&answer.body).is_some_and(|rate| (80_000 / 60..=80_000 / 40).contains(&rate))
    });
}

/// The thousandths of the one value in an answer.
fn milli(body: &str) -> Option<u64> {
    let answer: Value = serde_json::from_str(body).ok()?;
    let value = answer["items"][0]["value"].as_str()?;
    match value.strip_suffix('m') {
        Some(milli) => milli.parse().ok(),
        None => value.parse::<u64>().ok().map(|whole| whole * 1000),
    }
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
    for public in hub.client("public").ask_each(&report) {
        assert_eq!(
            (public.status, public.body.as_str()),
            (200, "hello\n"),
            "it is the upstream's"
        );
    }
    let plain = hub.client("plain").ask(&report);
    assert_eq!(
        (plain.status, plain.body.as_str()),
        (403, "a report must come over mutual TLS\n")
    );
    hub.wait_for_stat("burst_hub_report_refused_total", |refused| refused == 2);
    assert_eq!(hub.stat("burst_hub_report_taken_total"), 0);
}

/// More than Envoy's 60 KiB of headers, at some 60 bytes a Service.
const MANY: usize = 1_500;

fn a_report_of_many_services_takes_a_hub_that_allows_it(version: Version) {
    let world = World::sample();
    let many: Vec<_> = (0..MANY)
        .map(|n| format!("service-{n:04}.a-namespace-with-quite-a-long-name"))
        .collect();
    let gateway = |hub_port| {
        let setup = Proxy::of(version).workers(1).listener("main", telling());
        let setup = setup.cluster(cluster("hub", hub_port));
        let without_hosts = |name: &String| json!({"name": name, "load_assignment": {"cluster_name": name}});
        let proxy = many
            .iter()
            .fold(setup, |setup, name| setup.cluster(without_hosts(name)))
            .start(&world);
        let mut client = proxy.client("main");
        for name in &many {
            client.ask_each(&Request::to(name));
        }
        proxy
    };
    let reports = Reports::start();
    let _allowed = gateway(reports.addr().port());
    let last = format!("a-namespace-with-quite-a-long-name/service-{:04}", MANY - 1);
    reports.wait_for(&last, "the last of them", |count| count.requests == 1);

    let narrow = counting(json!({"accept": {"filter_chain": "reports"}}));
    let hub = Proxy::of(version)
        .plugin(Plugin::new("hub", narrow).filter_chain("reports"))
        .start(&world);
    let refused = gateway(hub.envoy.listener("hub").port());
    let words = ReportFailure::TooLarge.to_string();
    wait::until(PATIENCE, &words, || !refused.log_lines(&words).is_empty());
    let failed = refused.stat("burst_report_failed_total");
    refused.wait_for_stat("burst_report_failed_total", |now| now >= failed + 2);
    // Who is busy may answer a report too late, and then the words before are told again; but no thread repeats itself.
    let told = refused.log_lines(UNREPORTED);
    let untimed = |line: &String| line.split_once(']').map(|(_, rest)| rest.to_owned());
    let repeated = told.windows(2).any(|two| untimed(&two[0]) == untimed(&two[1]));
    assert!(!repeated, "{told:#?}");
}
