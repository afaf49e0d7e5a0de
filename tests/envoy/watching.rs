//! Lists that are kept up to date by watch windows.

use burst_lab::api::Fault;
use burst_lab::cluster::{HPAS, SERVICES};
use burst_testkit::{Version, port, wait};
use serde_json::{Value, json};

use crate::stage::{Client, NGSA_1, NGSA_1_CLUSTER, PATIENCE, Plugin, Proxy, Request, Traffic, World};

on_each_envoy!(
    a_change_is_watched_and_nothing_is_listed_again,
    a_window_that_breaks_loses_nothing,
    a_version_that_is_gone_leads_to_a_list_without_a_gap,
    an_outage_ends_where_it_began,
    a_hand_over_goes_on_watching,
    a_configuration_that_reads_the_same_lists_nothing,
    a_window_over_the_buffer_limit_is_made_up_for_by_lists,
    a_window_that_comes_drop_by_drop_loses_nothing,
);

fn at(replicas: u32) -> String {
    NGSA_1.replace("current-load=1", &format!("current-load={replicas}"))
}

fn wait_for(main: &mut Client, replicas: u32) {
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&at(replicas)));
}

/// A proxy that shows what there is. The lease is where it stays: who takes it over asks from where the one before left
/// off, and knows nothing of how often a window broke.
fn start(version: Version, world: &World, keys: Value) -> (Proxy, Client) {
    let (proxy, mut main) = Proxy::start(version, world, keys);
    wait_for(&mut main, 1);
    proxy.wait_for_main_thread();
    (proxy, main)
}

fn asked(world: &World, verb: &str) -> usize {
    world.api.requests.count(|seen| seen.verb == verb)
}

fn a_change_is_watched_and_nothing_is_listed_again(version: Version) {
    let world = World::sample();
    let (_proxy, mut main) = start(version, &world, json!({}));
    let (lists, windows) = (asked(&world, "list"), asked(&world, "watch"));
    for replicas in [3, 5, 2] {
        world.scale_ngsa_1(replicas);
        wait_for(&mut main, replicas);
    }
    world.cluster.delete(SERVICES, "default/ngsa-svc-1");
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), None);
    assert_eq!(asked(&world, "list"), lists);
    assert!(asked(&world, "watch") >= windows + 4, "a window for each change");
}

fn a_window_that_breaks_loses_nothing(version: Version) {
    let world = World::sample();
    let (proxy, mut main) = start(version, &world, json!({}));
    let lists = asked(&world, "list");
    for (fault, replicas) in [(Fault::ResetMidway, 3), (Fault::Truncate, 4), (Fault::Reset, 5)] {
        world.api.faults.inject_times(HPAS, fault, 1);
        world.scale_ngsa_1(replicas);
        wait_for(&mut main, replicas);
    }
    // A change may come with the window before the one that breaks.
    wait::until(PATIENCE, "each was met", || {
        world.api.requests.count(|seen| seen.fault.is_some()) == 3
    });
    assert_eq!(asked(&world, "list"), lists);
    proxy.wait_for_stat("burst_poll_cut_total", |count| count >= 1);
}

fn a_version_that_is_gone_leads_to_a_list_without_a_gap(version: Version) {
    let world = World::sample();
    let (proxy, mut main) = start(version, &world, json!({}));
    let lists = asked(&world, "list");
    let traffic = Traffic::start(proxy.envoy.listener("main"), &Request::to(NGSA_1_CLUSTER));
    world.cluster.compact();
    world.scale_ngsa_1(3);
    world.cluster.compact();
    proxy.wait_for_stat("burst_poll_expired_total", |count| count >= 4);
    wait_for(&mut main, 3);
    wait::until(PATIENCE, "a list of each kind", || asked(&world, "list") >= lists + 4);
    let without = traffic
        .stop()
        .into_iter()
        .filter(|answer| answer.header("x-burst").is_none());
    assert_eq!(without.count(), 0);
    assert_eq!(asked(&world, "list"), lists + 4, "each kind once");
}

fn an_outage_ends_where_it_began(version: Version) {
    let mut world = World::sample();
    let (proxy, mut main) = start(version, &world, json!({}));
    let lists = asked(&world, "list");
    world.refuse_connections();
    proxy.wait_for_stat("burst_poll_unreachable_total", |count| count >= 4);
    world.scale_ngsa_1(3);
    world.accept_connections();
    wait_for(&mut main, 3);
    assert_eq!(asked(&world, "list"), lists);
    let words = "watching horizontalpodautoscalers.autoscaling works again";
    wait::until(PATIENCE, words, || proxy.log_lines(words).len() == 1);
}

fn a_hand_over_goes_on_watching(version: Version) {
    let world = World::sample();
    let port = port::free();
    let plugin = |gate: &str| Plugin::new("main", json!({"header": {"when": {"request_header": gate}}})).port(port);
    let proxy = Proxy::of(version).plugin(plugin("host")).start(&world);
    let mut main = proxy.client("main");
    main.wait(&Request::get("/burstmetrics/services"), "a picture", |answer| {
        answer.status == 200
    });
    proxy.wait_for_main_thread();
    let (lists, changes) = (asked(&world, "list"), proxy.leader_changes());
    proxy.replace_listeners(&[plugin("x-other")]);
    wait::until(PATIENCE, "another leader", || proxy.leader_changes() > changes);
    world.scale_ngsa_1(3);
    let mut main = proxy.client("main");
    main.wait(
        &Request::get("/burstmetrics/services/default/ngsa-svc-1"),
        "the change",
        |answer| answer.body.contains("current-load=3,"),
    );
    assert_eq!(asked(&world, "list"), lists);
}

fn a_configuration_that_reads_the_same_lists_nothing(version: Version) {
    let world = World::sample();
    let port = port::free();
    let plugin = |keys| Plugin::new("main", keys).port(port);
    let proxy = Proxy::of(version).plugin(plugin(json!({}))).start(&world);
    let mut main = proxy.client("main");
    wait_for(&mut main, 1);
    proxy.wait_for_main_thread();
    let lists = asked(&world, "list");
    for (percent, target) in [(60, 3), (20, 1)] {
        proxy.replace_listeners(&[plugin(json!({"target_percent": percent, "max_staleness": "50s"}))]);
        let of_target = |replicas| at(replicas).replace("target-load=4", &format!("target-load={target}"));
        let mut main = proxy.client("main");
        main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&of_target(1)));
        // The old one goes on in its drain, and both leave what they know at one place.
        for replicas in [3, 1] {
            world.scale_ngsa_1(replicas);
            main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&of_target(replicas)));
        }
    }
    assert_eq!(asked(&world, "list"), lists);
}

fn a_window_over_the_buffer_limit_is_made_up_for_by_lists(version: Version) {
    let world = World::sample();
    let setup = Proxy::of(version).buffer_limit(50_000).listener("main", json!({}));
    let proxy = setup.start(&world);
    let mut main = proxy.client("main");
    wait_for(&mut main, 1);
    proxy.wait_for_main_thread();
    // Every change of it is in a window: the same object four times over.
    let large = json!({"metadata": {"annotations": {"large": "x".repeat(20_000)}}});
    world
        .cluster
        .patch(HPAS, "default/ngsa-hpa-1", &large)
        .expect("the HPA");
    for replicas in [2, 3, 4] {
        world.scale_ngsa_1(replicas);
    }
    wait_for(&mut main, 4);
    let cut = || proxy.wait_for_stat("burst_poll_cut_total", |count| count >= 3);
    assert_eq!(cut(), 3, "three windows");
    let words = "listing it every 1s instead";
    wait::until(PATIENCE, words, || !proxy.log_lines(words).is_empty());
    world.scale_ngsa_1(5);
    wait_for(&mut main, 5);
    assert_eq!(cut(), 3, "and no more");
}

fn a_window_that_comes_drop_by_drop_loses_nothing(version: Version) {
    let world = World::sample();
    // Longer than any other window may be late.
    let (proxy, mut main) = start(version, &world, json!({"request_timeout": "20s"}));
    let lists = asked(&world, "list");
    world.api.faults.inject_times(HPAS, Fault::Trickle { seconds: 60 }, 1);
    world.scale_ngsa_1(3);
    wait_for(&mut main, 3);
    assert_eq!(asked(&world, "list"), lists);
    assert_eq!(proxy.wait_for_stat("burst_poll_cut_total", |count| count >= 1), 1);
}
