//! Watched resources, which are the default.

use super::kube::Kube;
use super::{SECOND, envoy};
use crate::host::{Request, Route};
use std::time::Duration;

const PLAIN: &str = r#"{"cluster":"kube_api"}"#;

/// The number of lists and the number of watches among these paths.
fn verbs(asked: &[String]) -> (usize, usize) {
    let (watches, lists): (Vec<_>, Vec<_>) = asked.iter().partition(|path| path.contains("watch=1"));
    (lists.len(), watches.len())
}

#[test]
fn each_resource_is_listed_once_and_then_watched() {
    let kube = Kube::new().with("shop/api", 1, 4);
    let envoy = envoy(PLAIN, &kube);
    let _main = envoy.main_thread();
    let workers = [envoy.worker(), envoy.worker()];
    envoy.advance(SECOND).answer();
    assert_eq!(verbs(&kube.take_requests()).0, 4);
    kube.scale("shop/web", 3);
    kube.delete("shop/api");
    envoy.advance(Duration::from_secs(30)).answer();
    let (lists, watches) = verbs(&kube.take_requests());
    assert!(lists == 0 && watches > 4, "{lists} lists and {watches} watches");
    for vm in workers {
        let header = vm.response("web.shop").header("x-burst").map(ToOwned::to_owned);
        assert!(header.unwrap_or_default().contains("current-load=3"));
        assert_eq!(vm.response("api.shop").header("x-burst"), None);
    }
}

#[test]
fn a_large_cluster_is_joined_in_parts_and_served_as_a_whole() {
    let kube = (0..4_000).fold(Kube::new(), |kube, n| kube.with(&format!("shop/web-{n}"), 1, 5));
    let envoy = envoy(PLAIN, &kube);
    let worker = envoy.worker();
    let period = || worker.tick_period(worker.root()).unwrap();
    let header = |service| worker.response(service).header("x-burst").map(ToOwned::to_owned);
    envoy.advance(SECOND).answer();
    assert!(
        period() < SECOND / 10,
        "{:?}: all lists are read, and there is work left",
        period()
    );
    assert_eq!(header("web.shop"), None, "a partly joined snapshot is not served");
    envoy.advance(SECOND);
    for service in ["web.shop", "web-0.shop", "web-3999.shop"] {
        assert!(
            header(service).unwrap_or_default().contains("current-load=1"),
            "{service}"
        );
    }
    assert_eq!(period(), SECOND, "no work is left");
    // The thread that has served requests hands over the lease, and frees its data in parts too.
    let main = envoy.main_thread();
    let mut moments = (0..100).map(|_| envoy.advance(SECOND / 20).answer());
    assert!(moments.any(|_| period() < SECOND / 10));
    envoy.advance(Duration::from_secs(5)).answer();
    assert_eq!((period(), main.tick_period(main.root())), (SECOND, Some(SECOND)));
    kube.scale("shop/web-3999", 4);
    envoy.advance(Duration::from_secs(8)).answer();
    assert!(header("web-3999.shop").unwrap_or_default().contains("current-load=4"));
}

#[test]
fn a_configuration_that_reads_the_same_resources_resumes_the_watch_and_both_stay_current() {
    let kube = Kube::new();
    let envoy = envoy(PLAIN, &kube);
    let worker = envoy.worker();
    let old = worker.root();
    envoy.advance(Duration::from_secs(3)).answer();
    kube.take_requests();
    let new = worker
        .configure(r#"{"cluster":"kube_api","target_percent":40}"#)
        .unwrap();
    envoy.advance(SECOND).answer();
    let seen = |root| {
        let seen = worker.request_through(root, Request::get("/"), Route::istio("web", "shop"));
        seen.header("x-burst").map(ToOwned::to_owned).unwrap_or_default()
    };
    assert!(seen(new).contains("target-load=2"), "within a tick");
    for (seconds, current) in [(3, 3), (40, 2), (3, 4)] {
        kube.scale("shop/web", current);
        envoy.advance(Duration::from_secs(seconds)).answer();
        for root in [old, new] {
            assert!(
                seen(root).contains(&format!("current-load={current},")),
                "{}",
                seen(root)
            );
        }
    }
    let leaders = envoy.stat("burst_leader_changes_total");
    worker.retire(old);
    let next = worker
        .configure(r#"{"cluster":"kube_api","target_percent":20}"#)
        .unwrap();
    envoy.advance(Duration::from_secs(3)).answer();
    assert!(seen(next).contains("current-load=4, target-load=1"));
    assert_eq!(leaders, Some(2), "neither configuration took the lease from the other");
    assert_eq!(verbs(&kube.take_requests()).0, 0);
}

#[test]
fn every_thread_serves_a_publication_one_tick_later() {
    let kube = Kube::new();
    let envoy = envoy(PLAIN, &kube);
    let _main = envoy.main_thread();
    // Threads tick at different times.
    let worker = |_| {
        envoy.advance(Duration::from_millis(200));
        envoy.worker()
    };
    let workers: Vec<_> = (0..4).map(worker).collect();
    envoy.advance(Duration::from_secs(3)).answer();
    let snapshot = || {
        let shared = envoy.shared_data("burst-metrics/").into_iter();
        shared
            .filter(|(key, _)| key.ends_with("/snapshot"))
            .map(|(_, bytes)| bytes)
            .next()
    };
    for current in [3, 5, 2] {
        kube.scale("shop/web", current);
        let before = snapshot();
        let published = (0..100).any(|_| {
            envoy.advance(Duration::from_millis(100)).answer();
            snapshot() != before
        });
        assert!(published, "{current}");
        envoy.advance(SECOND);
        for worker in &workers {
            let header = worker.response("web.shop").header("x-burst").map(ToOwned::to_owned);
            assert!(header.unwrap_or_default().contains(&format!("current-load={current},")));
        }
    }
}
