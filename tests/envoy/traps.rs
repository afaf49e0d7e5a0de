//! A VM that dies: of a request on a worker, or of an object on the thread that polls.

use burst_lab::cluster::HPAS;
use burst_testkit::{Version, wait};
use serde_json::json;

use crate::stage::{Module, NGSA_1, NGSA_1_CLUSTER, PATIENCE, Plugin, Proxy, Request, World, listing};

on_each_envoy!(
    a_worker_that_trapped_serves_again,
    a_poller_that_trapped_is_replaced_by_one_that_leaves_the_object_out,
    a_poller_that_trapped_in_a_window_is_replaced_by_one_that_leaves_the_object_out,
);

/// What the host writes when a module traps.
const TRAP: &str = "Uncaught RuntimeError: unreachable";

fn a_worker_that_trapped_serves_again(version: Version) {
    let world = World::sample();
    let plugin = Plugin::new("main", json!({})).module(Module::Trap);
    let proxy = Proxy::of(version).plugin(plugin).start(&world);
    let mut main = proxy.client("main");
    let request = Request::to(NGSA_1_CLUSTER);
    main.wait_for_header(&request, Some(NGSA_1));
    for answer in main.ask_each(&request.clone().header("x-burst-test-trap", "1")) {
        assert_eq!(answer.status, 503, "{answer:?}");
    }
    assert_eq!(proxy.log_lines(TRAP).len(), 2, "both workers");
    main.wait_for_header(&request, Some(NGSA_1));
    world.scale_ngsa_1(3);
    let risen = NGSA_1.replace("current-load=1", "current-load=3");
    main.wait_for_header(&request, Some(&risen));
    assert_eq!(main.ask(&Request::get("/burstmetrics/services")).status, 200);
    assert_eq!(proxy.log_lines(TRAP).len(), 2, "and no more");
}

fn a_poller_that_trapped_is_replaced_by_one_that_leaves_the_object_out(version: Version) {
    trapped(version, listing(json!({})));
}

/// The window is asked for again from the same version, and brings the same bytes.
fn a_poller_that_trapped_in_a_window_is_replaced_by_one_that_leaves_the_object_out(version: Version) {
    trapped(version, json!({}));
}

fn trapped(version: Version, keys: serde_json::Value) {
    let world = World::sample();
    let plugin = Plugin::new("main", keys).module(Module::Trap);
    let proxy = Proxy::of(version).plugin(plugin).start(&world);
    let mut main = proxy.client("main");
    let request = Request::to(NGSA_1_CLUSTER);
    main.wait_for_header(&request, Some(NGSA_1));
    proxy.wait_for_main_thread();
    let main_thread = Some(proxy.envoy.id());

    annotate(&world, &json!("1"));
    wait::until(PATIENCE, "the poller traps", || proxy.log_lines(TRAP).len() == 1);
    wait::until(PATIENCE, "another thread polls", || proxy.poller() != main_thread);
    let words = "excluded HorizontalPodAutoscaler ngsa/ngsa-hpa-2: ";
    wait::until(PATIENCE, words, || proxy.log_lines(words).len() == 1);
    let its_own = Request::get("/burstmetrics/hpas/ngsa/ngsa-hpa-2");
    main.wait(&its_own, "just that object is left out", |answer| answer.status == 204);
    for replicas in [3, 5] {
        world.scale_ngsa_1(replicas);
        let risen = NGSA_1.replace("current-load=1", &format!("current-load={replicas}"));
        main.wait_for_header(&request, Some(&risen));
    }
    let all = main.ask(&Request::get("/burstmetrics/hpas")).body;
    assert_eq!(all.lines().count(), 4 + 2, "the other four: {all}");
    assert_eq!(proxy.log_lines(TRAP).len(), 1, "nobody else died of it");

    annotate(&world, &json!(null));
    main.wait(&its_own, "the object is served once it is another", |answer| {
        answer.status == 200
    });
}

/// Puts the annotation on an HPA that traps whoever parses it, or takes it away.
fn annotate(world: &World, value: &serde_json::Value) {
    let patch = json!({"metadata": {"annotations": {"burst-metrics.test/trap": value}}});
    world.cluster.patch(HPAS, "ngsa/ngsa-hpa-2", &patch).expect("the HPA");
}
