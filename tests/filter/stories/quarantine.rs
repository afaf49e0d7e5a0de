//! Data of the cluster that traps a VM: it ends one VM, and no VM after the reload.

use super::kube::Kube;
use super::metrics_apis::over_mutual_tls;
use super::{EVERY_SECOND, SECOND, envoy, logged};
use crate::host::{Access, FakeEnvoy, Jump, Request, Response, Vm};
use burst_model::quarantine::{Item, ItemKind, Mark, Marks};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const WATCHED: &str = r#"{"cluster":"kube_api"}"#;

/// Traps every VM that removes its mark of such an item, as if processing the item had ended the VM. Returns the number
/// of traps, and a switch that turns the trap off.
pub(super) fn trap_on_reading(
    envoy: &FakeEnvoy,
    fatal: impl Fn(Item) -> bool + Send + 'static,
) -> (Arc<AtomicUsize>, Arc<AtomicBool>) {
    let (traps, armed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(true)));
    // Each part of the configuration has marks of its own.
    let (counted, is_armed, mut before) = (traps.clone(), armed.clone(), BTreeMap::<String, usize>::new());
    envoy.trap_where(move |access, key, value| {
        if access != Access::Write || !key.ends_with("/quarantine") {
            return false;
        }
        let marks = Marks::from_bytes(value);
        let marks = marks.iter().filter(|mark| fatal(mark.item)).count();
        let before = before.entry(key.to_owned()).or_default();
        let is_read = marks < *before && is_armed.load(Ordering::Relaxed);
        if is_read {
            counted.fetch_add(1, Ordering::Relaxed);
        } else {
            *before = marks;
        }
        is_read
    });
    (traps, armed)
}

fn is_of(value: &[u8], kind: ItemKind) -> bool {
    Mark::from_bytes(value).is_some_and(|mark| mark.item.kind == kind)
}

/// The snapshot after the first one.
fn second_snapshot(item: Item) -> bool {
    item.kind == ItemKind::Snapshot && item.hash == 2
}

/// Waits a second and sends a request to each worker. Returns how many got a 200.
fn served(envoy: &FakeEnvoy, workers: &[Vm]) -> usize {
    envoy.advance(SECOND).answer();
    let good = |worker: &&Vm| worker.response("web.shop").status() == 200;
    workers.iter().filter(good).count()
}

fn count_logged(envoy: &FakeEnvoy, part: &str) -> usize {
    logged(envoy).iter().filter(|line| line.contains(part)).count()
}

#[test]
fn a_snapshot_that_traps_ends_one_vm_and_the_next_snapshot_is_used() {
    let kube = Kube::new();
    let envoy = envoy(EVERY_SECOND, &kube);
    let workers = [envoy.worker(), envoy.worker(), envoy.worker()];
    envoy.advance(SECOND * 3).answer();
    let (traps, _) = trap_on_reading(&envoy, second_snapshot);
    kube.scale("shop/web", 2);
    envoy.advance(SECOND * 5).answer();
    assert_eq!(
        workers.each_ref().map(Vm::alive),
        [false, true, true],
        "only the leader has died"
    );
    let seen = workers.each_ref().map(|worker| worker.response("web.shop"));
    assert!(
        seen.iter().all(|seen| seen.status() == 200),
        "the reloaded VM does not read the snapshot"
    );
    let served_by = seen.each_ref().map(|seen| seen.header("x-burst").is_some());
    assert_eq!(
        served_by,
        [false, true, true],
        "the other threads serve their last snapshot"
    );
    envoy.advance(SECOND * 60).answer();
    assert_eq!((served(&envoy, &workers), traps.load(Ordering::Relaxed)), (3, 1));
    assert_eq!(
        count_logged(&envoy, "the snapshot is in quarantine: "),
        3,
        "once a thread: {:?}",
        logged(&envoy)
    );
    assert_eq!(envoy.stat("burst_quarantined_records_total"), Some(3));
    kube.scale("shop/web", 3);
    envoy.advance(SECOND * 3).answer();
    for worker in &workers {
        let header = worker.response("web.shop").header("x-burst").map(str::to_owned);
        assert!(
            header.is_some_and(|header| header.contains("current-load=3")),
            "the header is back"
        );
    }
}

#[test]
fn skipping_a_quarantined_snapshot_does_not_refresh_the_age_of_the_held_one() {
    let kube = Kube::new();
    let envoy = envoy(&EVERY_SECOND.replace(r#""1s""#, r#""1s","max_staleness":"30s""#), &kube);
    let workers = [envoy.worker(), envoy.worker()];
    envoy.advance(SECOND * 3).answer();
    trap_on_reading(&envoy, second_snapshot);
    kube.scale("shop/web", 2);
    envoy.advance(SECOND * 15).answer();
    assert!(workers[1].response("web.shop").header("x-burst").is_some());
    envoy.advance(SECOND * 30).answer();
    assert_eq!(
        workers[1].response("web.shop").header("x-burst"),
        None,
        "the last snapshot is stale"
    );
}

#[test]
fn requests_are_served_while_every_snapshot_traps_and_the_proxy_recovers_soon_after() {
    let kube = Kube::new();
    let envoy = envoy(EVERY_SECOND, &kube);
    let _main = envoy.main_thread();
    let workers = [envoy.worker(), envoy.worker()];
    envoy.advance(SECOND * 3).answer();
    let (traps, armed) = trap_on_reading(&envoy, |item| item.kind == ItemKind::Snapshot);
    let (mut good, all) = (0, 300);
    for second in 0..all {
        kube.scale("shop/web", 1 + second % 5);
        good += served(&envoy, &workers);
    }
    let traps = traps.load(Ordering::Relaxed);
    assert!((3..=10).contains(&traps), "{traps} in five minutes");
    assert!(
        good + 4 * traps >= 2 * all as usize,
        "{good} of {}, {traps} traps",
        2 * all
    );
    armed.store(false, Ordering::Relaxed);
    for second in 0..70 {
        kube.scale("shop/web", 1 + second % 5);
        assert_eq!(served(&envoy, &workers), 2);
    }
    for worker in &workers {
        assert!(
            worker.response("web.shop").header("x-burst").is_some(),
            "the header is back"
        );
    }
}

const POLICIES: &str = r#"{"cluster":"kube_api","sync":{"mode":"list"},"poll_interval":"1s",
    "metrics_apis":{"filter_chain":"metrics","policies":{"root_namespace":"istio-system"}}}"#;

fn policies(kube: &Kube, deny: &'static str) {
    kube.fail("externalmetricpolicies", move || {
        let rules = format!(r#"[{{"metric":"{deny}","deny":true}}]"#);
        let metadata = r#"{"name":"p","namespace":"shop"}"#;
        let item = format!(r#"{{"metadata":{metadata},"spec":{{"rules":{rules}}}}}"#);
        let body =
            format!(r#"{{"kind":"ExternalMetricPolicyList","metadata":{{"resourceVersion":"1"}},"items":[{item}]}}"#);
        Response::json(body)
    });
}

fn headroom(worker: &Vm) -> u16 {
    let path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/burst_headroom";
    let request = Request::get(path).header("x-remote-user", "system:kube-aggregator");
    worker.request(request, over_mutual_tls()).status()
}

#[test]
fn policies_that_trap_end_one_vm_and_the_previous_ones_stay_in_force() {
    let kube = Kube::new();
    policies(&kube, "none");
    let envoy = envoy(POLICIES, &kube);
    let _main = envoy.main_thread();
    let workers = [envoy.worker(), envoy.worker()];
    envoy.advance(SECOND * 3).answer();
    assert_eq!(workers.each_ref().map(headroom), [200, 200]);
    let (traps, armed) = trap_on_reading(&envoy, |item| item.kind == ItemKind::Policies);
    policies(&kube, "burst_headroom");
    envoy.advance(SECOND * 10).answer();
    assert_eq!(traps.load(Ordering::Relaxed), 1);
    assert_eq!(served(&envoy, &workers), 2);
    assert_eq!(
        workers.each_ref().map(headroom),
        [200, 200],
        "the previous policies stay in force"
    );
    envoy.advance(SECOND * 60).answer();
    let fresh = envoy.worker();
    envoy.advance(SECOND * 2).answer();
    assert_eq!(headroom(&fresh), 503, "a thread without previous policies refuses");
    assert_eq!(traps.load(Ordering::Relaxed), 1);
    armed.store(false, Ordering::Relaxed);
    policies(&kube, "burst_head.*");
    envoy.advance(SECOND * 3).answer();
    assert_eq!(
        [&workers[0], &workers[1], &fresh].map(headroom),
        [403; 3],
        "the new policies are in force"
    );
}

#[test]
fn a_metric_request_that_traps_ends_one_vm_and_other_requests_are_answered() {
    let kube = Kube::new();
    let envoy = envoy(
        r#"{"cluster":"kube_api","metrics_apis":{"filter_chain":"metrics"}}"#,
        &kube,
    );
    let workers = [envoy.worker(), envoy.worker()];
    envoy.advance(SECOND * 3).answer();
    let (traps, armed) = trap_on_reading(&envoy, |item| item.kind == ItemKind::MetricsQuery);
    assert_eq!(headroom(&workers[0]), 503, "the request traps the VM");
    armed.store(false, Ordering::Relaxed);
    envoy.advance(SECOND * 2).answer();
    assert_eq!(workers.each_ref().map(headroom), [503, 503], "no worker answers it");
    assert_eq!(traps.load(Ordering::Relaxed), 1);
    assert!(workers.iter().all(Vm::alive));
    let discovery = Request::get("/apis/external.metrics.k8s.io/v1beta1").header("x-remote-user", "someone");
    assert_eq!(
        workers[0].request(discovery, over_mutual_tls()).status(),
        200,
        "a different request is answered"
    );
    envoy.advance(SECOND * 60).answer();
    assert_eq!(workers.each_ref().map(headroom), [200, 200]);
}

#[test]
fn a_checkpoint_that_traps_is_read_once_and_the_next_leader_lists_instead() {
    let kube = Kube::new();
    let envoy = envoy(WATCHED, &kube);
    let main = envoy.main_thread();
    let workers = [envoy.worker(), envoy.worker()];
    envoy.advance(SECOND * 10).answer();
    let (traps, _) = trap_on_reading(&envoy, |item| item.kind == ItemKind::Checkpoint);
    main.kill();
    kube.take_requests();
    envoy.advance(SECOND * 30).answer();
    assert_eq!(traps.load(Ordering::Relaxed), 1);
    assert!(
        kube.take_requests().iter().any(|path| path.contains("limit=")),
        "the new leader lists"
    );
    assert_eq!(
        count_logged(&envoy, "the checkpoint of the last leader is in quarantine: "),
        1
    );
    assert_eq!(served(&envoy, &workers), 2);
    kube.scale("shop/web", 3);
    envoy.advance(SECOND * 10).answer();
    for worker in &workers {
        let header = worker.response("web.shop").header("x-burst").map(str::to_owned);
        assert!(header.is_some_and(|header| header.contains("current-load=3")));
    }
    assert_eq!(traps.load(Ordering::Relaxed), 1);
}

#[test]
fn leaders_that_die_for_an_unknown_reason_cost_one_vm_a_minute() {
    let envoy = envoy(EVERY_SECOND, &Kube::new());
    let workers = [envoy.worker(), envoy.worker(), envoy.worker()];
    envoy.advance(SECOND * 3).answer();
    let traps = Arc::new(AtomicUsize::new(0));
    let (counted, mut leads) = (traps.clone(), false);
    envoy.trap_where(move |access, key, value| {
        if access != Access::Write || !key.ends_with("/parsing") {
            return false;
        }
        let dies = leads && value.is_empty();
        leads = is_of(value, ItemKind::LeaderWork);
        counted.fetch_add(dies.into(), Ordering::Relaxed);
        dies
    });
    let good = (0..600).map(|_| served(&envoy, &workers)).sum::<usize>();
    let traps = traps.load(Ordering::Relaxed);
    assert!((5..=16).contains(&traps), "{traps} in ten minutes");
    assert!(good + 3 * traps >= 1800, "{good} of 1800, {traps} traps");
}

#[test]
fn a_leader_that_is_slow_on_an_object_does_not_quarantine_it() {
    for configuration in [EVERY_SECOND, WATCHED] {
        let kube = Kube::new();
        let envoy = envoy(configuration, &kube);
        let (slow, other) = (envoy.worker(), envoy.worker());
        envoy.advance(SECOND * 5).answer();
        kube.scale("shop/web", 3);
        let (host, busy) = (envoy.clone(), other.clone());
        // The first four writes are its tick and its answers up to the object. It is delayed before the next one.
        for _ in 0..4 {
            slow.before_write("parsing", || {});
        }
        slow.before_write("parsing", move || {
            for _ in 0..9 {
                host.jump(Jump::Ahead(SECOND));
                busy.tick().answer();
            }
        });
        envoy.jump(Jump::Ahead(SECOND * 5));
        slow.tick().answer();
        let header = |vm: &Vm| vm.response("web.shop").header("x-burst").map(str::to_owned);
        assert_eq!(
            count_logged(&envoy, "keeping the last version of HorizontalPodAutoscaler shop/web: "),
            1,
            "{:?}",
            logged(&envoy)
        );
        assert!(
            header(&other).is_some_and(|header| header.contains("current-load=1,")),
            "the object keeps its values"
        );
        envoy.advance(SECOND * 20).answer();
        assert!(
            header(&other).is_some_and(|header| header.contains("current-load=3,")),
            "{configuration}"
        );
        assert_eq!(count_logged(&envoy, "excluded "), 0, "{:?}", logged(&envoy));
    }
}

#[test]
fn an_object_that_ends_its_thread_is_excluded_after_a_minute_and_retried_after_an_hour() {
    let kube = Kube::new();
    let envoy = envoy(EVERY_SECOND, &kube);
    let (main, worker) = (envoy.main_thread(), envoy.worker());
    envoy.advance(SECOND * 10).answer();
    let mut parses = false;
    envoy.trap_where(move |access, key, value| {
        let writes = access == Access::Write && key.ends_with("/parsing");
        let dies = writes && parses;
        parses = writes && !dies && is_of(value, ItemKind::Object);
        dies
    });
    kube.scale("shop/web", 3);
    envoy.advance(SECOND * 3).answer();
    assert!(!main.alive());
    envoy.trap_where(|_, _, _| false);
    let header = || worker.response("web.shop").header("x-burst").map(str::to_owned);
    envoy.advance(SECOND * 40).answer();
    assert!(
        header().is_some_and(|header| header.contains("current-load=1,")),
        "the object keeps its values"
    );
    envoy.advance(SECOND * 40).answer();
    assert_eq!(header(), None, "the object is excluded");
    let excluded = "excluded HorizontalPodAutoscaler shop/web: a proxy thread died while it parsed these bytes";
    assert_eq!(count_logged(&envoy, excluded), 1, "{:?}", logged(&envoy));
    envoy.advance(SECOND * 3600).answer();
    assert!(
        header().is_some_and(|header| header.contains("current-load=3,")),
        "the object is parsed again"
    );
}

#[test]
fn an_idle_filter_writes_no_quarantine_marks_and_a_retired_one_leaves_none() {
    let kube = Kube::new();
    let envoy = envoy(EVERY_SECOND, &kube);
    let worker = envoy.worker();
    let old = worker.root();
    envoy.advance(SECOND * 5).answer();
    let writes = Arc::new(AtomicUsize::new(0));
    let counted = writes.clone();
    envoy.trap_where(move |access, key, _| {
        let is_mark = access == Access::Write && key.ends_with("/quarantine");
        counted.fetch_add(is_mark.into(), Ordering::Relaxed);
        false
    });
    envoy.advance(SECOND * 30).answer();
    assert_eq!(writes.load(Ordering::Relaxed), 0);
    kube.scale("shop/web", 2);
    worker.configure(EVERY_SECOND.replace("1s", "2s")).unwrap();
    envoy.advance(SECOND * 5).answer();
    worker.retire(old);
    envoy.advance(SECOND * 5).answer();
    assert!(writes.load(Ordering::Relaxed) > 0);
    let left = envoy.shared_data("burst-metrics/").into_iter();
    assert!(
        left.filter(|(key, _)| key.ends_with("/quarantine"))
            .all(|(_, bytes)| bytes.is_empty())
    );
}
