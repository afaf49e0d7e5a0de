//! The module that processes responses only.

use burst_lab::api::LoggedRequest;
use burst_lab::cluster::{DEPLOYMENTS, HPAS, SERVICES, STATEFULSETS};
use burst_testkit::{
    Traffic, Version,
    filter::{Backend, Client, Module, NGSA_1, NGSA_1_CLUSTER, PATIENCE, Plugin, Proxy, UpstreamProtocol},
    http::Request,
    port, wait, wasm,
};
use serde_json::json;

on_each_envoy!(
    the_header_only_module_sets_the_header_and_serves_no_endpoint,
    a_callout_through_the_header_only_module_is_no_request,
    where_both_modules_run_the_full_one_streams_for_both,
    where_both_modules_run_the_header_only_one_leads_when_the_full_one_is_gone,
);

/// The names that a module exports.
fn exports(module: Module) -> Vec<String> {
    let module = walrus::Module::from_file(wasm(module.file())).expect("a module");
    module.exports.iter().map(|export| export.name.clone()).collect()
}

#[test]
fn the_header_only_module_exports_no_request_path() {
    let of_requests = |module| {
        let exports = exports(module).into_iter();
        exports
            .filter(|name| name.starts_with("proxy_on_request_"))
            .collect::<Vec<_>>()
    };
    assert_eq!(of_requests(Module::HeaderOnly), [""; 0]);
    assert_eq!(of_requests(Module::Full), ["proxy_on_request_headers"]);
    assert!(exports(Module::HeaderOnly).contains(&"proxy_on_response_headers".to_owned()));
}

fn wait_for(client: &mut Client, replicas: u32) {
    let header = NGSA_1.replace("current-load=1", &format!("current-load={replicas}"));
    client.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&header));
}

/// The length of the windows in which each module watches, in seconds. It is no part of the settings that a lease is for.
const WINDOW: [u64; 2] = [3, 4];

/// A listener of each module: the full one, and then the header-only one.
fn one_of_each() -> [Plugin; 2] {
    let plugin = |name, window: u64| {
        let window = format!("{window}s");
        Plugin::new(name, json!({"sync": {"window": window, "workload_window": window}})).port(port::free())
    };
    let [full, header_only] = [("full", WINDOW[0]), ("main", WINDOW[1])].map(|(name, window)| plugin(name, window));
    [full, header_only.module(Module::HeaderOnly)]
}

fn start(version: Version, [full, header_only]: [Plugin; 2], backend: &Backend) -> Proxy {
    let setup = Proxy::of(version).argument("--drain-time-s").argument("2");
    setup.plugin(full).plugin(header_only).start(backend)
}

fn has_one_stream_each(backend: &Backend) -> bool {
    let kinds = [HPAS, SERVICES, DEPLOYMENTS, STATEFULSETS];
    backend.api.watches.counts() == kinds.map(|kind| (kind.to_owned(), 1)).into()
}

fn is_window_of(request: &LoggedRequest, seconds: u64) -> bool {
    request.query.contains(&format!("timeoutSeconds={seconds}&"))
}

fn where_both_modules_run_the_full_one_streams_for_both(version: Version) {
    let backend = Backend::sample();
    let [full, header_only] = one_of_each();
    let full = full.upstream_filter(UpstreamProtocol::Http2);
    let proxy = start(version, [full, header_only.clone()], &backend);
    wait_for(&mut proxy.client("main"), 1);
    wait_for(&mut proxy.client("full"), 1);
    wait::until(PATIENCE, "one stream of each kind", || has_one_stream_each(&backend));
    let traffic = Traffic::to(proxy.envoy.listener("main"), Request::to(NGSA_1_CLUSTER)).start();
    proxy.wait_for_main_thread();
    wait::until(PATIENCE, "its streams", || has_one_stream_each(&backend));

    backend.api.requests.clear();
    for replicas in [3, 5] {
        backend.scale_ngsa_1(replicas);
        wait_for(&mut proxy.client("main"), replicas);
        wait_for(&mut proxy.client("full"), replicas);
    }
    assert!(has_one_stream_each(&backend));
    assert_eq!(backend.api.requests.entries(), [], "no module reads beside the streams");

    // The upstream filter is still the full module.
    proxy.replace_listeners(&[header_only]);
    proxy.wait_for_the_drain();
    backend.scale_ngsa_1(2);
    wait_for(&mut proxy.client("main"), 2);
    wait::until(PATIENCE, "one stream of each kind", || has_one_stream_each(&backend));
    assert_eq!(
        backend.api.requests.count(|request| is_window_of(request, WINDOW[1])),
        0
    );
    let without = traffic
        .stop()
        .into_iter()
        .filter(|answer| answer.header("x-burst").is_none());
    assert_eq!(without.count(), 0);
}

fn where_both_modules_run_the_header_only_one_leads_when_the_full_one_is_gone(version: Version) {
    let backend = Backend::sample();
    let [full, header_only] = one_of_each();
    let proxy = start(version, [full.clone(), header_only.clone()], &backend);
    wait_for(&mut proxy.client("main"), 1);
    wait_for(&mut proxy.client("full"), 1);
    proxy.wait_for_main_thread();
    let count = |module: usize| {
        backend
            .api
            .requests
            .count(|request| is_window_of(request, WINDOW[module]))
    };
    wait::until(PATIENCE, "windows of the full module", || count(0) >= 8);
    backend.api.requests.clear();
    let traffic = Traffic::to(proxy.envoy.listener("main"), Request::to(NGSA_1_CLUSTER)).start();
    wait::until(PATIENCE, "more of them", || count(0) >= 8);
    assert_eq!(count(1), 0, "the header-only module reads nothing");

    proxy.replace_listeners(std::slice::from_ref(&header_only));
    wait::until(PATIENCE, "windows of the header-only module", || count(1) >= 8);
    backend.scale_ngsa_1(3);
    wait_for(&mut proxy.client("main"), 3);
    proxy.wait_for_the_drain();

    proxy.replace_listeners(&[full, header_only]);
    backend.api.requests.clear();
    wait::until(PATIENCE, "windows of the full module", || count(0) >= 8);
    backend.scale_ngsa_1(5);
    wait_for(&mut proxy.client("main"), 5);
    assert_eq!(
        backend.api.requests.count(|request| request.verb == "list"),
        0,
        "each leader continues from the checkpoint"
    );
    let without = traffic
        .stop()
        .into_iter()
        .filter(|answer| answer.header("x-burst").is_none());
    assert_eq!(without.count(), 0);
}

fn the_header_only_module_sets_the_header_and_serves_no_endpoint(version: Version) {
    let backend = Backend::sample();
    let plugin = Plugin::new("main", json!({})).module(Module::HeaderOnly);
    let proxy = Proxy::of(version).plugin(plugin).start(&backend);
    let mut main = proxy.client("main");
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    let answer = main.ask(&Request::get("/burstmetrics/services").through(NGSA_1_CLUSTER));
    assert_eq!(
        (answer.body.as_str(), answer.header("x-burst")),
        ("hello\n", Some(NGSA_1)),
        "the upstream's"
    );
    backend.scale_ngsa_1(3);
    let risen = NGSA_1.replace("current-load=1", "current-load=3");
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&risen));
}

fn a_callout_through_the_header_only_module_is_no_request(version: Version) {
    let backend = Backend::sample();
    let plugin = Plugin::new("main", json!({"sync": {"window": "3s", "workload_window": "3s"}}));
    let plugin = plugin
        .module(Module::HeaderOnly)
        .upstream_filter(UpstreamProtocol::Http2);
    let proxy = Proxy::of(version).plugin(plugin).start(&backend);
    let mut main = proxy.client("main");
    wait_for(&mut main, 1);
    proxy.wait_for_main_thread();

    let changes = proxy.leader_changes();
    backend.api.requests.clear();
    let window_count = || backend.api.requests.count(|request| is_window_of(request, 3));
    wait::until(PATIENCE, "windows of the main thread", || window_count() >= 8);
    backend.scale_ngsa_1(3);
    wait_for(&mut main, 3);
    assert_eq!(proxy.leader_changes(), changes, "the main thread has served no request");
    let counted: Vec<_> = absent_headers(&proxy)
        .into_iter()
        .filter(|line| !line.contains("_unsynced_") && !line.ends_with(": 0"))
        .collect();
    assert_eq!(counted, [""; 0]);
}

/// The stats of responses without the header.
fn absent_headers(proxy: &Proxy) -> Vec<String> {
    let stats = proxy.envoy.admin("/stats?filter=burst_header_absent").body;
    let lines: Vec<_> = stats.lines().map(ToOwned::to_owned).collect();
    assert!(lines.len() > 1, "{stats}");
    lines
}
