//! A trap: on a request in a worker, or on an object in the leader.

use burst_lab::cluster::HPAS;
use burst_testkit::{
    Version,
    filter::{Backend, Module, NGSA_1, NGSA_1_CLUSTER, PATIENCE, Plugin, Proxy, listing},
    http::Request,
    wait,
};
use serde_json::json;

on_each_envoy!(
    a_worker_that_trapped_serves_again_after_its_restart,
    a_leader_that_traps_on_an_object_is_replaced_and_the_object_is_excluded,
    a_leader_that_traps_on_a_watched_object_is_replaced_and_the_object_is_excluded,
);

/// The host's log line for a trap.
const TRAP: &str = "Uncaught RuntimeError: unreachable";

fn a_worker_that_trapped_serves_again_after_its_restart(version: Version) {
    let backend = Backend::sample();
    let plugin = Plugin::new("main", json!({})).module(Module::Trap);
    let proxy = Proxy::of(version).plugin(plugin).start(&backend);
    let mut main = proxy.client("main");
    let request = Request::to(NGSA_1_CLUSTER);
    main.wait_for_header(&request, Some(NGSA_1));
    for answer in main.ask_each(&request.clone().header("x-burst-test-trap", "1")) {
        assert_eq!(answer.status, 503, "{answer:?}");
    }
    assert_eq!(proxy.log_lines(TRAP).len(), 2, "both workers");
    main.wait_for_header(&request, Some(NGSA_1));
    backend.scale_ngsa_1(3);
    let risen = NGSA_1.replace("current-load=1", "current-load=3");
    main.wait_for_header(&request, Some(&risen));
    assert_eq!(main.ask(&Request::get("/burstmetrics/services")).status, 200);
    assert_eq!(proxy.log_lines(TRAP).len(), 2, "and no more");
}

fn a_leader_that_traps_on_an_object_is_replaced_and_the_object_is_excluded(version: Version) {
    trapped(version, listing(json!({})));
}

/// The successor requests the same watch from the same resource version, and gets the same bytes.
fn a_leader_that_traps_on_a_watched_object_is_replaced_and_the_object_is_excluded(version: Version) {
    trapped(version, json!({}));
}

fn trapped(version: Version, keys: serde_json::Value) {
    let backend = Backend::sample();
    let plugin = Plugin::new("main", keys).module(Module::Trap);
    let proxy = Proxy::of(version).plugin(plugin).start(&backend);
    let mut main = proxy.client("main");
    let request = Request::to(NGSA_1_CLUSTER);
    main.wait_for_header(&request, Some(NGSA_1));
    proxy.wait_for_main_thread();
    let main_thread = Some(proxy.envoy.id());

    annotate(&backend, &json!("1"));
    wait::until(PATIENCE, "the poller traps", || proxy.log_lines(TRAP).len() == 1);
    wait::until(PATIENCE, "another thread polls", || proxy.leader() != main_thread);
    let words = "excluded HorizontalPodAutoscaler ngsa/ngsa-hpa-2: ";
    wait::until(PATIENCE, words, || proxy.log_lines(words).len() == 1);
    let its_own = Request::get("/burstmetrics/hpas/ngsa/ngsa-hpa-2");
    main.wait(&its_own, "just that object is left out", |answer| answer.status == 204);
    for replicas in [3, 5] {
        backend.scale_ngsa_1(replicas);
        let risen = NGSA_1.replace("current-load=1", &format!("current-load={replicas}"));
        main.wait_for_header(&request, Some(&risen));
    }
    let all = main.ask(&Request::get("/burstmetrics/hpas")).body;
    assert_eq!(all.lines().count(), 4 + 2, "the other four: {all}");
    assert_eq!(proxy.log_lines(TRAP).len(), 1, "no other VM trapped");

    annotate(&backend, &json!(null));
    main.wait(&its_own, "the object is served once it is another", |answer| {
        answer.status == 200
    });
}

/// Adds or removes the annotation that makes an HPA trap the VM that parses it.
fn annotate(backend: &Backend, value: &serde_json::Value) {
    let patch = json!({"metadata": {"annotations": {"burst-metrics.test/trap": value}}});
    backend.cluster.patch(HPAS, "ngsa/ngsa-hpa-2", &patch).expect("the HPA");
}
