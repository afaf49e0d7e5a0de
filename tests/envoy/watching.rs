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

fn header_at(replicas: u32) -> String {
    NGSA_1.replace("current-load=1", &format!("current-load={replicas}"))
}

fn wait_for(main: &mut Client, replicas: u32) {
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&header_at(replicas)));
}

/// A proxy that serves the cluster and whose lease no longer moves. A new leader would resume the watch, but would not
/// know how often it has failed.
fn start(version: Version, backend: &Backend, keys: Value) -> (Proxy, Client) {
    let (proxy, mut main) = Proxy::start(version, backend, keys);
    wait_for(&mut main, 1);
    proxy.wait_for_main_thread();
    (proxy, main)
}

fn request_count(backend: &Backend, verb: &str) -> usize {
    backend.api.requests.count(|seen| seen.verb == verb)
}

fn a_change_arrives_by_watch_and_nothing_is_listed_again(version: Version) {
    let backend = Backend::sample();
    let (_proxy, mut main) = start(version, &backend, json!({}));
    let (lists, windows) = (request_count(&backend, "list"), request_count(&backend, "watch"));
    for replicas in [3, 5, 2] {
        backend.scale_ngsa_1(replicas);
        wait_for(&mut main, replicas);
    }
    backend.cluster.delete(SERVICES, "default/ngsa-svc-1");
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), None);
    assert_eq!(request_count(&backend, "list"), lists);
    assert!(
        request_count(&backend, "watch") >= windows + 4,
        "a window for each change"
    );
}

fn a_watch_that_breaks_loses_no_change(version: Version) {
    let backend = Backend::sample();
    let (proxy, mut main) = start(version, &backend, json!({}));
    let lists = request_count(&backend, "list");
    for (fault, replicas) in [(Fault::ResetMidway, 3), (Fault::Truncate, 4), (Fault::Reset, 5)] {
        backend.api.faults.inject_times(HPAS, fault, 1);
        backend.scale_ngsa_1(replicas);
        wait_for(&mut main, replicas);
    }
    // A change may arrive with the watch before the one that breaks.
    wait::until(PATIENCE, "each was met", || {
        backend.api.requests.count(|seen| seen.fault.is_some()) == 3
    });
    assert_eq!(request_count(&backend, "list"), lists);
    proxy.wait_for_stat("burst_poll_cut_total", |count| count >= 1);
}

fn an_expired_resource_version_leads_to_one_list_and_no_response_lacks_the_header(version: Version) {
    let backend = Backend::sample();
    let (proxy, mut main) = start(version, &backend, json!({}));
    let lists = request_count(&backend, "list");
    let traffic = Traffic::to(proxy.envoy.listener("main"), Request::to(NGSA_1_CLUSTER)).start();
    backend.cluster.compact();
    backend.scale_ngsa_1(3);
    backend.cluster.compact();
    proxy.wait_for_stat("burst_poll_expired_total", |count| count >= 4);
    wait_for(&mut main, 3);
    wait::until(PATIENCE, "a list of each kind", || {
        request_count(&backend, "list") >= lists + 4
    });
    let without = traffic
        .stop()
        .into_iter()
        .filter(|answer| answer.header("x-burst").is_none());
    assert_eq!(without.count(), 0);
    assert_eq!(request_count(&backend, "list"), lists + 4, "each kind once");
}

fn after_an_outage_the_watch_resumes_without_a_list(version: Version) {
    let mut backend = Backend::sample();
    let (proxy, mut main) = start(version, &backend, json!({}));
    let lists = request_count(&backend, "list");
    backend.refuse_connections();
    proxy.wait_for_stat("burst_poll_unreachable_total", |count| count >= 4);
    backend.scale_ngsa_1(3);
    backend.accept_connections();
    wait_for(&mut main, 3);
    assert_eq!(request_count(&backend, "list"), lists);
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
    let (lists, changes) = (request_count(&backend, "list"), proxy.leader_changes());
    proxy.replace_listeners(&[plugin("x-other")]);
    wait::until(PATIENCE, "another leader", || proxy.leader_changes() > changes);
    backend.scale_ngsa_1(3);
    let mut main = proxy.client("main");
    main.wait(
        &Request::get("/burstmetrics/services/default/ngsa-svc-1"),
        "the change",
        |answer| answer.body.contains("current-load=3,"),
    );
    assert_eq!(request_count(&backend, "list"), lists);
}

fn a_new_configuration_that_reads_the_same_resources_lists_nothing(version: Version) {
    let backend = Backend::sample();
    let port = port::free();
    let plugin = |keys| Plugin::new("main", keys).port(port);
    let proxy = Proxy::of(version).plugin(plugin(json!({}))).start(&backend);
    let mut main = proxy.client("main");
    wait_for(&mut main, 1);
    proxy.wait_for_main_thread();
    let lists = request_count(&backend, "list");
    for (percent, target) in [(60, 3), (20, 1)] {
        proxy.replace_listeners(&[plugin(json!({"target_percent": percent, "max_staleness": "50s"}))]);
        let of_target = |replicas| header_at(replicas).replace("target-load=4", &format!("target-load={target}"));
        let mut main = proxy.client("main");
        main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&of_target(1)));
        // The old one continues during its drain, and both write their checkpoint under the same key.
        for replicas in [3, 1] {
            backend.scale_ngsa_1(replicas);
            main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&of_target(replicas)));
        }
    }
    assert_eq!(request_count(&backend, "list"), lists);
}

fn a_watch_over_the_buffer_limit_is_replaced_by_lists(version: Version) {
    let backend = Backend::sample();
    let setup = Proxy::of(version).buffer_limit(50_000).listener("main", json!({}));
    let proxy = setup.start(&backend);
    let mut main = proxy.client("main");
    wait_for(&mut main, 1);
    proxy.wait_for_main_thread();
    // A watch contains every change, here the same object four times.
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
    // A leader that was deposed meanwhile may have counted one of its own.
    assert!((3..=4).contains(&cut()), "three windows");
    let words = "listing it every 1s instead";
    wait::until(PATIENCE, words, || !proxy.log_lines(words).is_empty());
    backend.scale_ngsa_1(5);
    wait_for(&mut main, 5);
    assert!(cut() <= 4, "and no more");
}

fn a_slow_watch_loses_no_change(version: Version) {
    let backend = Backend::sample();
    // Longer than the delay of any other watch.
    let (proxy, mut main) = start(version, &backend, json!({"request_timeout": "20s"}));
    let lists = request_count(&backend, "list");
    backend.api.faults.inject_times(HPAS, Fault::Trickle { seconds: 60 }, 1);
    backend.scale_ngsa_1(3);
    wait_for(&mut main, 3);
    assert_eq!(request_count(&backend, "list"), lists);
    assert_eq!(proxy.wait_for_stat("burst_poll_cut_total", |count| count >= 1), 1);
}
