//! A picture that is too old.

use burst_testkit::{Version, wait};
use serde_json::json;

use crate::stage::{NGSA_1, NGSA_1_CLUSTER, PATIENCE, Proxy, Request, World, listing};

on_each_envoy!(values_are_served_until_they_are_too_old_and_then_as_configured);

fn values_are_served_until_they_are_too_old_and_then_as_configured(version: Version) {
    let mut world = World::sample();
    let keys = |on_stale| listing(json!({"max_staleness": "6s", "on_stale": on_stale}));
    let proxy = Proxy::of(version)
        .listener("drop", keys("drop"))
        .listener("mark", keys("mark"))
        .listener("keep", keys("keep"))
        .start(&world);
    let [mut drop, mut mark, mut keep] = ["drop", "mark", "keep"].map(|listener| proxy.client(listener));
    let request = Request::to(NGSA_1_CLUSTER);
    for client in [&mut drop, &mut mark, &mut keep] {
        client.wait_for_header(&request, Some(NGSA_1));
    }
    let read_before = proxy.stat("burst_snapshot_timestamp_seconds");
    world.refuse_connections();
    let gone = drop.first_without_header(&request);
    drop.wait_for_header(&request, None);
    let marked = format!("{NGSA_1}, stale=true");
    mark.wait_for_header(&request, Some(&marked));
    assert_eq!(keep.ask(&request).header("x-burst"), Some(NGSA_1));
    proxy.wait_for_stat("burst_header_absent_stale_total", |count| count > 0);
    for path in ["/burstmetrics/services", "/burstmetrics/services/default/ngsa-svc-1"] {
        let request = Request::get(path);
        // Each listener finds it out with a tick of its own.
        keep.wait(&request, "an age", |answer| answer.status != 200);
        for answer in keep.ask_each(&request) {
            assert_eq!(
                (answer.status, answer.header("retry-after")),
                (503, Some("1")),
                "{path}"
            );
            let body = &answer.body;
            assert!(
                body.starts_with("too stale: the Kubernetes API was last read "),
                "{path}: {body}"
            );
            assert!(body.ends_with(" s ago, and 6 s are allowed\n"), "{path}: {body}");
        }
    }
    let read = proxy.stat("burst_snapshot_timestamp_seconds");
    assert!(
        (read_before..=gone - 6).contains(&read),
        "the time of the last good read: {read}, not in {read_before} to {gone} less 6"
    );
    world.accept_connections();
    for client in [&mut drop, &mut mark, &mut keep] {
        client.wait_for_header(&request, Some(NGSA_1));
    }
    wait::until(PATIENCE, "a newer read", || {
        proxy.stat("burst_snapshot_timestamp_seconds") > read
    });
}
