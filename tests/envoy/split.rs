//! The header-only module on a public port, and the full module on an internal port of the same proxy.

use burst_lab::cluster::{DEPLOYMENTS, HPAS, SERVICES, STATEFULSETS};
use burst_testkit::{
    Traffic, Version,
    filter::{Backend, Client, Module, NGSA_1, NGSA_1_CLUSTER, PATIENCE, Plugin, Proxy, UpstreamProtocol},
    http::Request,
    port, wait,
};
use serde_json::{Value, json};

on_each_envoy!(
    two_modules_have_one_reader_and_a_change_of_the_internal_port_makes_no_second_one,
    two_modules_with_different_targets_are_counted,
);

fn public(keys: Value) -> Plugin {
    Plugin::new("public", keys)
        .module(Module::HeaderOnly)
        .port(port::free())
}

fn metrics_apis() -> Value {
    json!({"filter_chain": "metrics-apis", "insecure_loopback_demo": true})
}

fn ngsa_1(replicas: u32) -> String {
    NGSA_1.replace("current-load=1", &format!("current-load={replicas}"))
}

fn wait_for(client: &mut Client, replicas: u32) {
    client.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&ngsa_1(replicas)));
}

/// Whether each resource of the snapshot is read by one stream.
fn has_one_stream_each(backend: &Backend) -> bool {
    let counts = backend.api.watches.counts();
    [HPAS, SERVICES, DEPLOYMENTS, STATEFULSETS]
        .iter()
        .all(|kind| counts.get(*kind) == Some(&1))
}

/// The length of the windows in which the header-only module would watch, in seconds.
const PUBLIC_WINDOW: &str = "4s";

/// The lists of the snapshot since the last call, and the windows of the header-only module.
fn second_reads(backend: &Backend) -> Vec<String> {
    let requests = backend.api.requests.entries();
    backend.api.requests.clear();
    let of_snapshot = requests
        .into_iter()
        .filter(|request| !request.resource.contains("externalmetricpolicies"));
    let second = of_snapshot.filter(|request| request.verb == "list" || request.query.contains("timeoutSeconds=4&"));
    second
        .map(|request| format!("{} {}?{}", request.verb, request.path, request.query))
        .collect()
}

fn two_modules_have_one_reader_and_a_change_of_the_internal_port_makes_no_second_one(version: Version) {
    let backend = Backend::sample();
    let public = public(json!({"sync": {"window": PUBLIC_WINDOW, "workload_window": PUBLIC_WINDOW}}));
    let internal = |keys: Value| Plugin::new("internal", keys).upstream_filter(UpstreamProtocol::Http2);
    let proxy = Proxy::of(version)
        .argument("--drain-time-s")
        .argument("2")
        .plugin(public.clone())
        .plugin(internal(json!({"metrics_apis": metrics_apis()})))
        .start(&backend);
    let mut client = proxy.client("public");
    wait_for(&mut client, 1);
    wait_for(&mut proxy.client("internal"), 1);
    wait::until(PATIENCE, "one stream of each kind", || has_one_stream_each(&backend));
    let traffic = Traffic::to(proxy.envoy.listener("public"), Request::to(NGSA_1_CLUSTER)).start();
    let listing = Request::get("/burstmetrics/services").through(NGSA_1_CLUSTER);
    assert_eq!(
        client.ask(&listing).body,
        "hello\n",
        "the public port answers nothing itself"
    );

    second_reads(&backend);
    for replicas in [3, 5] {
        backend.scale_ngsa_1(replicas);
        wait_for(&mut client, replicas);
        let value = ngsa_1(replicas);
        let mut internal = proxy.client("internal");
        internal.wait(&listing, "the same snapshot", |answer| answer.body.contains(&value));
    }
    assert_eq!(second_reads(&backend), [""; 0], "no module reads beside the streams");

    let policies = json!({"root_namespace": "istio-system"});
    let mut apis = metrics_apis();
    apis["policies"] = policies;
    proxy.replace_listeners(&[public, internal(json!({"metrics_apis": apis, "requests": {}}))]);
    proxy.wait_for_the_drain();
    backend.scale_ngsa_1(2);
    wait_for(&mut client, 2);
    wait_for(&mut proxy.client("internal"), 2);
    wait::until(PATIENCE, "one stream of each kind", || has_one_stream_each(&backend));
    assert_eq!(
        second_reads(&backend),
        [""; 0],
        "the new configuration continues from the same records"
    );
    assert_eq!(proxy.stat("burst_other_leaders"), 0);
    let answers = traffic.stop().into_iter();
    assert_eq!(answers.filter(|answer| answer.header("x-burst").is_none()).count(), 0);
}

fn two_modules_with_different_targets_are_counted(version: Version) {
    let backend = Backend::sample();
    let internal = Plugin::new("internal", json!({"metrics_apis": metrics_apis()}));
    let proxy = Proxy::of(version)
        .plugin(public(json!({"target_percent": 50})))
        .plugin(internal)
        .start(&backend);
    wait_for(&mut proxy.client("internal"), 1);
    proxy.wait_for_stat("burst_other_leaders", |count| count == 1);
}
