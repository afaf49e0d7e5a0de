//! Resources that are kept up to date by watches.

use burst_lab::api::Fault;
use burst_lab::cluster::{HPAS, SERVICES};
use burst_testkit::{
    Traffic, Version,
    filter::{Backend, Client, NGSA_1, NGSA_1_CLUSTER, PATIENCE, Plugin, Proxy},
    http::Request,
    port, wait,
};
use serde_json::{Value, json};

on_each_envoy!(
    a_change_arrives_by_watch_and_nothing_is_listed_again,
    a_watch_that_breaks_loses_no_change,
    an_expired_resource_version_leads_to_one_list_and_no_response_lacks_the_header,
    after_an_outage_the_watch_resumes_without_a_list,
    a_new_leader_resumes_the_watch_of_the_previous_one,
    a_new_configuration_that_reads_the_same_resources_lists_nothing,
    a_watch_over_the_buffer_limit_is_replaced_by_lists,
    a_slow_watch_loses_no_change,
);

fn at(replicas: u32) -> String {
    NGSA_1.replace("current-load=1", &format!("current-load={replicas}"))
}

fn wait_for(main: &mut Client, replicas: u32) {
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&at(replicas)));
}

/// A proxy that shows what there is. The lease is where it stays: who takes it over asks from where the one before left
/// off, and knows nothing of how often a window broke.
fn start(version: Version, backend: &Backend, keys: Value) -> (Proxy, Client) {
    let (proxy, mut main) = Proxy::start(version, backend, keys);
    wait_for(&mut main, 1);
    proxy.wait_for_main_thread();
    (proxy, main)
}

fn asked(backend: &Backend, verb: &str) -> usize {
    backend.api.requests.count(|seen| seen.verb == verb)
}

fn a_change_arrives_by_watch_and_nothing_is_listed_again(version: Version) {
    let backend = Backend::sample();
    let (_proxy, mut main) = start(version, &backend, json!({}));
    let (lists, windows) = (asked(&backend, "list"), asked(&backend, "watch"));
    for replicas in [3, 5, 2] {
        backend.scale_ngsa_1(replicas);
        wait_for(&mut main, replicas);
    }
    backend.cluster.delete(SERVICES, "default/ngsa-svc-1");
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), None);
    assert_eq!(asked(&backend, "list"), lists);
    assert!(asked(&backend, "watch") >= windows + 4, "a window for each change");
}

fn a_watch_that_breaks_loses_no_change(version: Version) {
    let backend = Backend::sample();
    let (proxy, mut main) = start(version, &backend, json!({}));
    let lists = asked(&backend, "list");
    for (fault, replicas) in [(Fault::ResetMidway, 3), (Fault::Truncate, 4), (Fault::Reset, 5)] {
        backend.api.faults.inject_times(HPAS, fault, 1);
        backend.scale_ngsa_1(replicas);
        wait_for(&mut main, replicas);
    }
    // A change may come with the window before the one that breaks.
    wait::until(PATIENCE, "each was met", || {
        backend.api.requests.count(|seen| seen.fault.is_some()) == 3
    });
    assert_eq!(asked(&backend, "list"), lists);
    proxy.wait_for_stat("burst_poll_cut_total", |count| count >= 1);
}

fn an_expired_resource_version_leads_to_one_list_and_no_response_lacks_the_header(version: Version) {
    let backend = Backend::sample();
    let (proxy, mut main) = start(version, &backend, json!({}));
    let lists = asked(&backend, "list");
    let traffic = Traffic::to(proxy.envoy.listener("main"), Request::to(NGSA_1_CLUSTER)).start();
    backend.cluster.compact();
    backend.scale_ngsa_1(3);
    backend.cluster.compact();
    proxy.wait_for_stat("burst_poll_expired_total", |count| count >= 4);
    wait_for(&mut main, 3);
    wait::until(PATIENCE, "a list of each kind", || asked(&backend, "list") >= lists + 4);
    let without = traffic
        .stop()
        .into_iter()
        .filter(|answer| answer.header("x-burst").is_none());
    assert_eq!(without.count(), 0);
    assert_eq!(asked(&backend, "list"), lists + 4, "each kind once");
}

fn after_an_outage_the_watch_resumes_without_a_list(version: Version) {
    let mut backend = Backend::sample();
    let (proxy, mut main) = start(version, &backend, json!({}));
    let lists = asked(&backend, "list");
    backend.refuse_connections();
    proxy.wait_for_stat("burst_poll_unreachable_total", |count| count >= 4);
    backend.scale_ngsa_1(3);
    backend.accept_connections();
    wait_for(&mut main, 3);
    assert_eq!(asked(&backend, "list"), lists);
    let words = "watching horizontalpodautoscalers.autoscaling works again";
    wait::until(PATIENCE, words, || proxy.log_lines(words).len() == 1);
}

fn a_new_leader_resumes_the_watch_of_the_previous_one(version: Version) {
    let backend = Backend::sample();
    let port = port::free();
    let plugin = |gate: &str| Plugin::new("main", json!({"header": {"when": {"request_header": gate}}})).port(port);
    let proxy = Proxy::of(version).plugin(plugin("host")).start(&backend);
    let mut main = proxy.client("main");
    main.wait(&Request::get("/burstmetrics/services"), "a snapshot", |answer| {
        answer.status == 200
    });
    proxy.wait_for_main_thread();
    let (lists, changes) = (asked(&backend, "list"), proxy.leader_changes());
    proxy.replace_listeners(&[plugin("x-other")]);
    wait::until(PATIENCE, "another leader", || proxy.leader_changes() > changes);
    backend.scale_ngsa_1(3);
    let mut main = proxy.client("main");
    main.wait(
        &Request::get("/burstmetrics/services/default/ngsa-svc-1"),
        "the change",
        |answer| answer.body.contains("current-load=3,"),
    );
    assert_eq!(asked(&backend, "list"), lists);
}

fn a_new_configuration_that_reads_the_same_resources_lists_nothing(version: Version) {
    let backend = Backend::sample();
    let port = port::free();
    let plugin = |keys| Plugin::new("main", keys).port(port);
    let proxy = Proxy::of(version).plugin(plugin(json!({}))).start(&backend);
    let mut main = proxy.client("main");
    wait_for(&mut main, 1);
    proxy.wait_for_main_thread();
    let lists = asked(&backend, "list");
    for (percent, target) in [(60, 3), (20, 1)] {
        proxy.replace_listeners(&[plugin(json!({"target_percent": percent, "max_staleness": "50s"}))]);
        let of_target = |replicas| at(replicas).replace("target-load=4", &format!("target-load={target}"));
        let mut main = proxy.client("main");
        main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&of_target(1)));
        // The old one goes on in its drain, and both leave what they know at one place.
        for replicas in [3, 1] {
            backend.scale_ngsa_1(replicas);
            main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&of_target(replicas)));
        }
    }
    assert_eq!(asked(&backend, "list"), lists);
}

fn a_watch_over_the_buffer_limit_is_replaced_by_lists(version: Version) {
    let backend = Backend::sample();
    let setup = Proxy::of(version).buffer_limit(50_000).listener("main", json!({}));
    let proxy = setup.start(&backend);
    let mut main = proxy.client("main");
    wait_for(&mut main, 1);
    proxy.wait_for_main_thread();
    // Every change of it is in a window: the same object four times over.
    let large = json!({"metadata": {"annotations": {"large": "x".repeat(20_000)}}});
    backend
        .cluster
        .patch(HPAS, "default/ngsa-hpa-1", &large)
        .expect("the HPA");
    for replicas in [2, 3, 4] {
        backend.scale_ngsa_1(replicas);
    }
    wait_for(&mut main, 4);
    let cut = || proxy.wait_for_stat("burst_poll_cut_total", |count| count >= 3);
    assert_eq!(cut(), 3, "three windows");
    let words = "listing it every 1s instead";
    wait::until(PATIENCE, words, || !proxy.log_lines(words).is_empty());
    backend.scale_ngsa_1(5);
    wait_for(&mut main, 5);
    assert_eq!(cut(), 3, "and no more");
}

fn a_slow_watch_loses_no_change(version: Version) {
    let backend = Backend::sample();
    // Longer than any other window may be late.
    let (proxy, mut main) = start(version, &backend, json!({"request_timeout": "20s"}));
    let lists = asked(&backend, "list");
    backend.api.faults.inject_times(HPAS, Fault::Trickle { seconds: 60 }, 1);
    backend.scale_ngsa_1(3);
    wait_for(&mut main, 3);
    assert_eq!(asked(&backend, "list"), lists);
    assert_eq!(proxy.wait_for_stat("burst_poll_cut_total", |count| count >= 1), 1);
}
