//! How a leader publishes to shared data: in which callbacks, and how its successor continues if the leader dies in
//! between.

use super::kube::Kube;
use super::{EVERY_SECOND, SECOND, envoy};
use crate::host::FakeEnvoy;
use std::time::Duration;

const PLAIN: &str = r#"{"cluster":"kube_api"}"#;

/// More than all small records together.
const SMALL: usize = 10_000;

/// The value under a key with this suffix.
fn shared(envoy: &FakeEnvoy, part: &str) -> Vec<u8> {
    let all = envoy.shared_data("burst-metrics/").into_iter();
    let mut of = all.filter(|(key, _)| key.ends_with(part)).map(|(_, bytes)| bytes);
    of.next().unwrap_or_default()
}

#[test]
fn no_callback_copies_two_large_records_and_a_leader_serves_its_snapshot_at_once() {
    let kube = (0..4_000).fold(Kube::new(), |kube, n| kube.with(&format!("shop/web-{n}"), 1, 5));
    let envoy = envoy(PLAIN, &kube);
    let worker = envoy.worker();
    envoy.advance(SECOND).answer();
    let header = || worker.response("web-7.shop").header("x-burst").map(ToOwned::to_owned);
    let (mut last_snapshot, mut last_checkpoint) = (Vec::new(), Vec::new());
    for tick in 0.. {
        let before = worker.copied();
        worker.tick();
        let copied = worker.copied() - before;
        let (snapshot, checkpoint) = (shared(&envoy, "/snapshot"), shared(&envoy, "/resume"));
        let writes_snapshot = snapshot != std::mem::replace(&mut last_snapshot, snapshot.clone());
        let writes_checkpoint = checkpoint != std::mem::replace(&mut last_checkpoint, checkpoint.clone());
        let large = match (writes_snapshot, writes_checkpoint) {
            (false, false) => 0,
            // One write, and one read for the CAS number. Serving it needs no further read.
            (true, false) => 2 * snapshot.len(),
            (false, true) => checkpoint.len(),
            (true, true) => panic!("both in tick {tick}"),
        };
        assert!(large == 0 || large > 10 * SMALL, "{large} bytes");
        assert!(copied < large + SMALL, "{copied} bytes in tick {tick}, of {large}");
        assert_eq!(header().is_some(), !last_snapshot.is_empty(), "tick {tick}");
        if writes_checkpoint {
            break;
        }
    }
    assert_eq!(worker.tick_period(worker.root()), Some(SECOND), "no work is left");
}

#[test]
fn a_leader_that_dies_at_any_write_of_a_publication_has_a_successor_that_serves() {
    // The leader begins its term with a write of each key that only the leader writes.
    for (part, writes) in [("/snapshot", 1), ("/confirmed", 1), ("/resume", 0)] {
        for publications in 0..2 {
            let kube = Kube::new();
            let envoy = envoy(EVERY_SECOND, &kube);
            let (main, worker) = (envoy.main_thread(), envoy.worker());
            for _ in 0..writes + publications {
                main.before_write(part, || {});
            }
            main.before_write(part, move || panic!("a bug before {part}"));
            main.tick().answer();
            kube.scale("shop/web", 2);
            envoy.advance(SECOND * 2);
            assert!(!main.alive(), "{part}");
            envoy.advance(Duration::from_secs(20)).answer();
            let header = |service| worker.response(service).header("x-burst").map(ToOwned::to_owned);
            assert!(
                header("web.shop").unwrap_or_default().contains("current-load=2,"),
                "{part}"
            );
            kube.scale("shop/web", 3);
            envoy.advance(SECOND * 3).answer();
            assert!(
                header("web.shop").unwrap_or_default().contains("current-load=3,"),
                "{part}"
            );
        }
    }
}

#[test]
fn the_next_leader_of_a_large_cluster_reads_the_checkpoint_in_parts_and_lists_nothing() {
    let kube = (0..4_000).fold(Kube::new(), |kube, n| kube.with(&format!("shop/web-{n}"), 1, 5));
    let envoy = envoy(PLAIN, &kube);
    let worker = envoy.worker();
    envoy.advance(SECOND * 3).answer();
    let _served = worker.response("web-7.shop");
    worker.retire(worker.root());
    kube.take_requests();
    let main = envoy.main_thread();
    let ticks = (0..100).take_while(|_| main.tick().callouts().is_empty()).count();
    assert!((6..10).contains(&ticks), "{ticks} ticks before it asks for anything");
    main.answer();
    let asked = kube.take_requests();
    assert!(asked.iter().all(|path| path.contains("watch=1")), "{asked:?}");
}
