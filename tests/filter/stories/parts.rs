//! Listeners whose configurations differ only in what the metrics APIs need share one leader of the snapshot. Policies, other
//! adapters and counted requests have a leader of their own.

use super::kube::Kube;
use super::metrics_apis::over_mutual_tls;
use super::{EVERY_SECOND, SECOND, envoy};
use crate::host::{FakeEnvoy, Plugin, Request, Response, Root, Route, Vm};
use std::time::Duration;

/// As [`EVERY_SECOND`], with the metrics APIs and policy objects.
fn with_policies(root_namespace: &str) -> String {
    let apis = format!(r#"{{"filter_chain":"metrics","policies":{{"root_namespace":"{root_namespace}"}}}}"#);
    with(&format!(r#""metrics_apis":{apis}"#))
}

/// As [`EVERY_SECOND`], with one more key.
fn with(key: &str) -> String {
    EVERY_SECOND.replacen('{', &format!("{{{key},"), 1)
}

fn empty_policies(kube: &Kube) {
    kube.fail("externalmetricpolicies", || {
        Response::json(r#"{"kind":"ExternalMetricPolicyList","metadata":{"resourceVersion":"1"},"items":[]}"#)
    });
}

fn load(vm: &Vm, name: &str, configuration: &str) -> Root {
    vm.load(Plugin::named(name).config(configuration)).unwrap()
}

fn header(vm: &Vm, root: Root) -> Option<String> {
    let seen = vm.request_through(root, Request::get("/"), Route::istio("web", "shop"));
    seen.header("x-burst").map(str::to_owned)
}

/// The status of a request for all Deployments, whose selector only labels can match.
fn deployments(vm: &Vm, root: Root) -> u16 {
    let path = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/deployments.apps/*/burst_headroom";
    let request = Request::get(path).header("x-remote-user", "system:kube-aggregator");
    vm.request_through(root, request, over_mutual_tls()).status()
}

/// How often HPAs and policies were listed.
fn lists(kube: &Kube) -> [usize; 2] {
    let requests = kube.take_requests();
    ["horizontalpodautoscalers", "externalmetricpolicies"]
        .map(|kind| requests.iter().filter(|request| request.contains(kind)).count())
}

fn pollers(envoy: &FakeEnvoy) -> usize {
    logged(envoy, "this thread polls").len()
}

fn logged(envoy: &FakeEnvoy, start: &str) -> Vec<String> {
    let lines = envoy.log().into_iter().map(|line| line.text);
    lines.filter(|line| line.starts_with(start)).collect()
}

#[test]
fn listeners_that_differ_in_the_metrics_apis_share_one_leader_whichever_was_loaded_first() {
    for metrics_first in [true, false] {
        let kube = Kube::new();
        empty_policies(&kube);
        let configurations = [EVERY_SECOND.to_owned(), with_policies("istio-system")];
        let metrics = usize::from(!metrics_first);
        let (first, second) = (&configurations[usize::from(metrics_first)], &configurations[metrics]);
        let envoy = envoy(first, &kube);
        let vms = [envoy.worker(), envoy.worker()];
        let roots = vms.each_ref().map(|vm| [vm.root(), load(vm, "second", second)]);
        envoy.advance(SECOND * 3).answer();
        assert_eq!(pollers(&envoy), 1, "{metrics_first}");
        kube.take_requests();
        kube.scale("shop/web", 4);
        envoy.advance(SECOND * 10).answer();
        let counts = lists(&kube);
        assert!(
            counts.iter().all(|count| (9..=11).contains(count)),
            "{counts:?} in 10 s"
        );
        for (vm, roots) in vms.iter().zip(&roots) {
            let headers = roots.map(|root| header(vm, root));
            assert!(headers[0].as_ref().unwrap().contains("current-load=4"), "{headers:?}");
            assert_eq!(headers[0], headers[1]);
            assert_eq!(deployments(vm, roots[metrics]), 200, "{metrics_first}");
        }
        assert_eq!(envoy.stat("burst_other_leaders"), Some(0));
    }
}

#[test]
fn a_change_of_the_policies_alone_makes_no_second_leader_of_the_snapshot() {
    let kube = Kube::new();
    empty_policies(&kube);
    let envoy = envoy(&with_policies("istio-system"), &kube);
    let worker = envoy.worker();
    envoy.advance(SECOND * 3).answer();
    let generation = || envoy.stat("burst_snapshot_generation");
    let before = generation();
    let counting = with_policies("policies").replacen('{', r#"{"requests":{},"#, 1);
    let new = load(&worker, "metrics", &counting);
    assert!(header(&worker, new).is_some(), "before its first tick");
    assert_eq!(deployments(&worker, new), 200);
    kube.take_requests();
    envoy.advance(SECOND * 10).answer();
    let [hpas, policies] = lists(&kube);
    assert!((9..=11).contains(&hpas), "{hpas} in 10 s");
    assert!(
        (18..=22).contains(&policies),
        "{policies} in 10 s, until the old configuration is drained"
    );
    assert_eq!(generation(), before);
    worker.retire(worker.root());
    kube.take_requests();
    envoy.advance(SECOND * 10).answer();
    assert!(lists(&kube).iter().all(|count| (9..=11).contains(count)));
}

#[test]
fn metrics_are_not_served_from_a_snapshot_without_labels_and_soon_there_is_one_with_them() {
    let kube = Kube::new();
    let envoy = envoy(EVERY_SECOND, &kube);
    let worker = envoy.worker();
    envoy.advance(SECOND * 3).answer();
    let root = load(
        &worker,
        "metrics",
        &with(r#""metrics_apis":{"filter_chain":"metrics"}"#),
    );
    assert!(header(&worker, root).is_some());
    assert_eq!(deployments(&worker, root), 503);
    let mut without_header = 0;
    for _ in 0..5 {
        envoy.advance(SECOND).answer();
        without_header += usize::from(header(&worker, root).is_none());
    }
    assert_eq!((deployments(&worker, root), without_header), (200, 0));
    assert_eq!(envoy.stat("burst_header_absent_unsynced_total").unwrap_or(0), 0);
}

#[test]
fn a_difference_that_makes_two_leaders_is_counted_at_once_and_logged_after_a_minute() {
    let kube = Kube::new();
    let envoy = envoy(EVERY_SECOND, &kube);
    let worker = envoy.worker();
    let other = load(&worker, "other", &with(r#""target_percent":70"#));
    envoy.advance(SECOND * 15).answer();
    assert_eq!((pollers(&envoy), envoy.stat("burst_other_leaders")), (2, Some(1)));
    let lines = || logged(&envoy, "two threads of this proxy read the cluster");
    assert_eq!(lines().len(), 0);
    envoy.advance(Duration::from_secs(300)).answer();
    let [line] = &lines()[..] else { panic!("{:?}", lines()) };
    assert!(
        line.contains("differ in target_percent; write the same in both"),
        "{line}"
    );
    worker.retire(other);
    envoy.advance(SECOND * 60).answer();
    assert_eq!(envoy.stat("burst_other_leaders"), Some(0));
}
