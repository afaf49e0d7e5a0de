//! Request counts: every worker counts, and the proxy reports to the hub.

use burst_model::request_rates::{RequestCounts, report::ReportFailure};
use burst_testkit::{
    Version,
    filter::{Backend, Client, Module, PATIENCE, Plugin, Proxy, Reports, SILENT, TlsIdentity, cluster},
    http::{Connection, Request},
    wait,
};
use serde_json::{Value, json};

on_each_envoy!(
    the_requests_of_all_workers_are_reported_to_the_hub,
    a_service_without_hosts_has_its_requests_counted_as_rejected,
    requests_in_flight_are_counted_until_they_end,
    counts_survive_a_new_configuration,
    a_worker_that_trapped_counts_again_after_its_restart,
    the_hub_accepts_reports_over_mutual_tls_and_drops_those_of_a_proxy_that_is_gone,
    the_metrics_apis_of_the_hub_serve_the_sum_of_all_proxies,
    reports_are_accepted_on_no_other_filter_chain,
    a_report_of_many_services_needs_a_hub_that_allows_its_size,
);

const WEB: &str = "ngsa-svc-1.default";

/// The log line for a failed report, logged once per change of the reason.
const UNREPORTED: &str = "the hub does not know the requests of this proxy: ";

/// Counting with the shortest interval, and with a window that holds every request of a test to its end.
fn counting(more: Value) -> Value {
    let mut requests = json!({"window": "5m", "report_interval": "1s"});
    match (&mut requests, more) {
        (Value::Object(all), Value::Object(more)) => all.extend(more),
        (_, more) => panic!("{more} are no keys"),
    }
    json!({"requests": requests})
}

fn reporting() -> Value {
    counting(json!({"hub": {"cluster": "hub"}}))
}

/// A proxy with one listener, which reports to a fake hub.
fn start(version: Version, backend: &Backend, module: Module) -> (Proxy, Client, Reports) {
    let reports = Reports::start();
    let proxy = Proxy::of(version)
        .plugin(Plugin::new("main", reporting()).module(module))
        .cluster(cluster("hub", reports.addr().port()))
        .cluster(json!({"name": "empty.default", "load_assignment": {"cluster_name": "empty.default"}}))
        .start(backend);
    let client = proxy.client("main");
    (proxy, client, reports)
}

/// Sends requests to each worker. Ignores whether the responses have the header.
#[track_caller]
fn serve(client: &mut Client, times: usize, cluster: &str) {
    for answer in (0..times).flat_map(|_| client.ask_each(&Request::to(cluster))) {
        assert_eq!(answer.status, 200, "{answer:?}");
    }
}

fn the_requests_of_all_workers_are_reported_to_the_hub(version: Version) {
    let backend = Backend::sample();
    let (proxy, mut main, reports) = start(version, &backend, Module::Full);
    serve(&mut main, 25, WEB);
    serve(&mut main, 1, "queue.data");
    serve(&mut main, 1, "elsewhere");
    let exactly = |requests| move |count: RequestCounts| (count.requests, count.rejected) == (requests, 0);
    reports.wait_for("default/ngsa-svc-1", "both workers' requests", exactly(50));
    reports.wait_for("data/queue", "another service's", exactly(2));
    assert_eq!(reports.of("default/elsewhere"), None);
    proxy.wait_for_stat("burst_report_ok_total", |sent| sent >= 2);
    check_no_report_refused(&proxy);
}

/// Checks that no report was refused. A report may still miss its two-second timeout on a busy machine.
#[track_caller]
fn check_no_report_refused(proxy: &Proxy) {
    // The log line is written before the counter is updated.
    let failed = proxy.stat("burst_report_failed_total");
    let lines = proxy.log_lines(UNREPORTED);
    let late = ReportFailure::Timeout.to_string();
    assert!(lines.iter().all(|line| line.ends_with(&late)), "{lines:#?}");
    assert!(failed == 0 || !lines.is_empty(), "{failed} failed");
}

fn a_service_without_hosts_has_its_requests_counted_as_rejected(version: Version) {
    let backend = Backend::sample();
    let (_proxy, mut main, reports) = start(version, &backend, Module::Full);
    for answer in (0..5).flat_map(|_| main.ask_each(&Request::to("empty.default"))) {
        assert_eq!(answer.status, 503, "{answer:?}");
    }
    reports.wait_for("default/empty", "all of them rejected", |count| {
        (count.requests, count.rejected) == (10, 10)
    });
}

fn requests_in_flight_are_counted_until_they_end(version: Version) {
    let backend = Backend::sample();
    let reports = Reports::start();
    let shortest = counting(json!({"hub": {"cluster": "hub"}, "window": "10s"}));
    let proxy = Proxy::of(version)
        .listener("main", shortest)
        .cluster(cluster("hub", reports.addr().port()))
        .start(&backend);
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

fn counts_survive_a_new_configuration(version: Version) {
    let backend = Backend::sample();
    let (proxy, mut old, reports) = start(version, &backend, Module::Full);
    serve(&mut old, 5, WEB);
    reports.wait_for("default/ngsa-svc-1", "the old one's", |count| count.requests == 10);
    let mut renamed = reporting();
    renamed["header"] = json!({"name": "x-new"});
    proxy.replace_listeners(&[Plugin::new("main", renamed.clone()), Plugin::new("more", renamed)]);
    let mut new = proxy.client("more");
    serve(&mut new, 5, WEB);
    reports.wait_for("default/ngsa-svc-1", "those of both, once", |count| {
        count.requests == 20
    });
}

/// More requests than are sent while a worker restarts.
const MANY_MORE: usize = 300;

fn a_worker_that_trapped_counts_again_after_its_restart(version: Version) {
    let backend = Backend::sample();
    let (_proxy, mut main, reports) = start(version, &backend, Module::Trap);
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

fn the_hub_accepts_reports_over_mutual_tls_and_drops_those_of_a_proxy_that_is_gone(version: Version) {
    let (backend, identity) = (Backend::sample(), TlsIdentity::new("burst-hub"));
    // A long interval, so that only the report of the stopped proxy is late.
    let with_long_interval = |mut keys: Value| {
        keys["requests"]["report_interval"] = "3s".into();
        keys
    };
    let accepting = with_long_interval(counting(json!({"accept": {"filter_chain": "reports"}})));
    let hub = Proxy::of(version)
        .plugin(Plugin::new("main", accepting.clone()))
        .plugin(
            Plugin::new("hub", accepting)
                .filter_chain("reports")
                .mutual_tls(&identity),
        )
        .start(&backend);
    let gateway = || {
        let to_hub = identity.over(cluster("hub", hub.envoy.listener("hub").port()));
        Proxy::of(version)
            .listener("main", with_long_interval(reporting()))
            .cluster(to_hub)
            .start(&backend)
    };
    let (one, two) = (gateway(), gateway());
    hub.wait_for_stat("burst_hub_proxies", |proxies| proxies == 3);
    one.wait_for_stat("burst_report_ok_total", |sent| sent >= 2);
    drop(two);
    hub.wait_for_stat("burst_hub_proxies", |proxies| proxies == 2);
    assert_eq!(hub.wait_for_stat("burst_hub_report_late_total", |late| late > 0), 1);
    assert_eq!(hub.stat("burst_hub_report_refused_total"), 0);
    check_no_report_refused(&one);
}

fn the_metrics_apis_of_the_hub_serve_the_sum_of_all_proxies(version: Version) {
    const METRIC: &str =
        "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default/services/ngsa-svc-1/burst_requests_per_second";
    let (backend, identity) = (Backend::sample(), TlsIdentity::new("burst-hub"));
    let window = json!({"window": "40s"});
    let mut serving = counting(window.clone());
    serving["requests"]["accept"] = json!({"filter_chain": "reports"});
    serving["metrics_apis"] = json!({"filter_chain": "apis", "insecure_loopback_demo": true});
    let hub = Proxy::of(version)
        .plugin(Plugin::new("apis", serving.clone()).filter_chain("apis"))
        .plugin(
            Plugin::new("hub", serving)
                .filter_chain("reports")
                .mutual_tls(&identity),
        )
        .start(&backend);
    let mut reporting = counting(window);
    reporting["requests"]["hub"] = json!({"cluster": "hub"});
    let gateway = || {
        let to_hub = identity.over(cluster("hub", hub.envoy.listener("hub").port()));
        Proxy::of(version)
            .listener("main", reporting.clone())
            .cluster(to_hub)
            .start(&backend)
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
    // 80 requests in 40 s. A window may be longer by a step and a late tick.
    apis.wait(&question, "the requests of both", |answer| {
        milli(&answer.body).is_some_and(|rate| (80_000 / 60..=80_000 / 40).contains(&rate))
    });
}

/// The only value in an answer, in thousandths.
fn milli(body: &str) -> Option<u64> {
    let answer: Value = serde_json::from_str(body).ok()?;
    let value = answer["items"][0]["value"].as_str()?;
    match value.strip_suffix('m') {
        Some(milli) => milli.parse().ok(),
        None => value.parse::<u64>().ok().map(|whole| whole * 1000),
    }
}

fn reports_are_accepted_on_no_other_filter_chain(version: Version) {
    let backend = Backend::sample();
    let accepting = counting(json!({"accept": {"filter_chain": "reports"}}));
    let hub = Proxy::of(version)
        .plugin(Plugin::new("public", accepting.clone()))
        .plugin(Plugin::new("plain", accepting).filter_chain("reports"))
        .start(&backend);
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

/// More than Envoy's limit of 60 KiB of headers, at some 60 bytes a Service.
const MANY: usize = 1_500;

fn a_report_of_many_services_needs_a_hub_that_allows_its_size(version: Version) {
    let backend = Backend::sample();
    let many: Vec<_> = (0..MANY)
        .map(|n| format!("service-{n:04}.a-namespace-with-quite-a-long-name"))
        .collect();
    let gateway = |hub_port| {
        let setup = Proxy::of(version).workers(1).listener("main", reporting());
        let setup = setup.cluster(cluster("hub", hub_port));
        let without_hosts = |name: &String| json!({"name": name, "load_assignment": {"cluster_name": name}});
        let proxy = many
            .iter()
            .fold(setup, |setup, name| setup.cluster(without_hosts(name)))
            .start(&backend);
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
        .start(&backend);
    let refused = gateway(hub.envoy.listener("hub").port());
    let reason = ReportFailure::TooLarge.to_string();
    wait::until(PATIENCE, &reason, || !refused.log_lines(&reason).is_empty());
    let failed = refused.stat("burst_report_failed_total");
    refused.wait_for_stat("burst_report_failed_total", |now| now >= failed + 2);
    // A busy hub may answer too late, and then the log shows the earlier reason again. But no thread repeats a line.
    let lines = refused.log_lines(UNREPORTED);
    let untimed = |line: &String| line.split_once(']').map(|(_, rest)| rest.to_owned());
    let repeated = lines.windows(2).any(|two| untimed(&two[0]) == untimed(&two[1]));
    assert!(!repeated, "{lines:#?}");
}
