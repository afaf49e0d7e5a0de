//! Watches on a real API server: changes arrive without another list, and without the verb `watch` the proxy lists.

use burst_testkit::{ControlPlane, Version, wait};

use crate::{
    account::apply_shipped_role,
    gateway::{Gateway, SOON},
    sample,
    shipped::{Shipped, Token},
};

/// The number of lists of HPAs, as pages and as events, from the API server's metrics.
pub(crate) fn lists(cluster: &ControlPlane) -> [u64; 2] {
    let metrics = cluster.kubectl(&["get", "--raw", "/metrics"]);
    let as_events = metrics.lines().filter(|line| {
        line.starts_with("apiserver_watch_list_duration_seconds_count{")
            && line.contains(r#"resource="horizontalpodautoscalers""#)
    });
    [asked(cluster, "LIST"), as_events.map(count).sum()]
}

/// The value of a line of metrics.
fn count(line: &str) -> u64 {
    line.rsplit_once(' ').expect("a value").1.parse().expect("a count")
}

/// The number of requests for HPAs with that verb, from the API server's metrics.
fn asked(cluster: &ControlPlane, verb: &str) -> u64 {
    let metrics = cluster.kubectl(&["get", "--raw", "/metrics"]);
    let of_hpas = |line: &&str| {
        line.starts_with("apiserver_request_total{")
            && line.contains(r#"resource="horizontalpodautoscalers""#)
            && line.contains(&format!(r#"verb="{verb}""#))
    };
    metrics.lines().filter(of_hpas).map(count).sum()
}

#[test]
fn the_shipped_bootstraps_serve_changes_while_the_watch_that_brings_them_is_open() {
    let cluster = ControlPlane::start();
    let mount = apply_shipped_role(&cluster).mount(&cluster);
    sample::create_with_status(&cluster);
    for (version, token) in [(Version::Tested, Token::Injected), (Version::Oldest, Token::ByLua)] {
        let bootstrap = Shipped::bootstrap(token, &cluster, &mount).configured("");
        let gateway = Gateway::start(version, &bootstrap, &mount);
        gateway
            .envoy
            .wait_for_log(SOON, "reading the Kubernetes API by streams: ");
        gateway.wait_for_replicas(1);
        // A new leader opens its own watches, so watches may end until one thread stays the leader.
        wait::for_ok(SOON, "two changes without the end of a watch or a list", || {
            let before = (asked(&cluster, "LIST"), asked(&cluster, "WATCH"));
            for replicas in [3, 1] {
                sample::scale(&cluster, replicas);
                gateway.wait_for_replicas(replicas);
            }
            let after = (asked(&cluster, "LIST"), asked(&cluster, "WATCH"));
            if after == before {
                Ok(())
            } else {
                Err(format!("{before:?}, and then {after:?}"))
            }
        });
        let http2 = gateway.envoy.stat("cluster.kube_api.upstream_cx_http2_total");
        assert!(http2.is_some_and(|connections| connections > 0), "{http2:?}");
    }
}

#[test]
fn changes_arrive_by_windows_and_nothing_is_listed_again() {
    let cluster = ControlPlane::start();
    let mount = apply_shipped_role(&cluster).mount(&cluster);
    sample::create_with_status(&cluster);
    let gateway = Gateway::in_windows(&cluster, &mount, "");
    gateway.wait_for_replicas(1);
    let (lists, watches) = (asked(&cluster, "LIST"), asked(&cluster, "WATCH"));

    for replicas in [3, 5, 2] {
        sample::scale(&cluster, replicas);
        gateway.wait_for_replicas(replicas);
    }
    cluster.kubectl(&["delete", "service", "ngsa-svc-1"]);
    gateway.wait_for_header("ngsa-svc-1.default", None);
    cluster.kubectl(&["delete", "hpa", "ngsa-hpa-1"]);
    let relabel = r#"[{"op": "replace", "path": "/spec/selector", "value": {"app": "another"}}]"#;
    cluster.kubectl(&[
        "patch",
        "service",
        "queue",
        "--namespace=data",
        "--type=json",
        "--patch",
        relabel,
    ]);
    gateway.wait_for_header("queue.data", None);
    // The watch of HPAs may end later than that of Services.
    wait::until(SOON, "the HPA to go", || {
        !gateway.burst("hpas").body.contains("ngsa-hpa-1")
    });

    assert_eq!(asked(&cluster, "LIST"), lists, "lists");
    assert!(asked(&cluster, "WATCH") > watches, "windows");
    let fresh = Gateway::new(&cluster, &mount, "");
    fresh.wait_for_burst("hpas", 200);
    for kind in ["services", "hpas", "deployments", "statefulsets"] {
        assert_eq!(
            gateway.burst(kind).body,
            fresh.burst(kind).body,
            "{kind}, as a fresh list has it"
        );
    }
}

#[test]
fn without_the_verb_watch_resources_are_listed_and_the_log_says_so() {
    let cluster = ControlPlane::start();
    let mount = apply_shipped_role(&cluster).mount(&cluster);
    let only_list = r#"[{"op": "replace", "path": "/rules/0/verbs", "value": ["list"]}]"#;
    let rules = cluster.kubectl(&[
        "get",
        "clusterrole",
        "burst-metrics",
        "--output=jsonpath={.rules[0].resources}",
    ]);
    assert!(rules.contains("horizontalpodautoscalers"), "{rules}");
    cluster.kubectl(&[
        "patch",
        "clusterrole",
        "burst-metrics",
        "--type=json",
        "--patch",
        only_list,
    ]);
    sample::create_with_status(&cluster);
    let gateway = Gateway::new(&cluster, &mount, "");
    gateway.wait_for_replicas(1);
    gateway
        .envoy
        .wait_for_log(SOON, "cannot watch horizontalpodautoscalers.autoscaling: 403 Forbidden");
    gateway.envoy.wait_for_log(SOON, "listing it every 1s instead");
    for replicas in [4, 2] {
        sample::scale(&cluster, replicas);
        gateway.wait_for_replicas(replicas);
    }
    // The filter retries the watch now and then, and does not log it again.
    gateway.wait_for_stat("burst_poll_forbidden_total", 2);
    let log = gateway.envoy.log();
    let lines = log.matches("burst-metrics: cannot watch ").count();
    assert!((1..=gateway.pollers().len()).contains(&lines), "{log}");
}
