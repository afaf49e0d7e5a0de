//! An incomplete role: the filter serves what it may read, and logs what is missing.

use std::time::Duration;

use burst_lab::api::Rule;
use burst_testkit::{
    Traffic, Version,
    filter::{Backend, NGSA_1, NGSA_1_CLUSTER, Proxy},
    http::Request,
};
use serde_json::json;

/// If there is no answer for this long, the machine or the proxy stood still.
const STANDSTILL: Duration = Duration::from_secs(1);

on_each_envoy!(
    a_role_for_one_of_two_namespaces_serves_that_namespace,
    a_refused_kind_is_excluded_once_it_is_too_old_and_the_others_stay_current,
);

const NGSA_2: &str = "service=ngsa/ngsa-2, current-load=2, target-load=4, max-load=6";
const QUEUE: &str = "service=data/queue, current-load=6, target-load=7, max-load=9";
const ALL: [&str; 4] = ["horizontalpodautoscalers", "services", "deployments", "statefulsets"];

/// Lets every user read these resources, in one namespace or in all, and nothing else.
fn rule(resources: &[&str], namespace: Option<&str>) -> Rule {
    Rule {
        api_groups: vec!["*".into()],
        resources: resources.iter().map(ToString::to_string).collect(),
        verbs: vec!["list".into(), "watch".into()],
        namespace: namespace.map(Into::into),
    }
}

fn allow(backend: &Backend, rules: Vec<Rule>) {
    backend.api.access.set_rules("system:anonymous", rules);
}

fn a_role_for_one_of_two_namespaces_serves_that_namespace(version: Version) {
    let backend = Backend::sample();
    let in_default = rule(&ALL, Some("default"));
    allow(&backend, vec![in_default.clone()]);
    let (proxy, mut main) = Proxy::start(version, &backend, json!({"namespaces": ["default", "ngsa"]}));
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    main.wait_for_header(&Request::to("ngsa-svc-2.ngsa"), None);
    proxy.wait_for_stat("burst_unreadable_services_in_ngsa", |shown| shown == 1);
    assert_eq!(proxy.stat("burst_unreadable_services_in_default"), 0);
    proxy.wait_for_stat("burst_header_absent_unsynced_total", |count| count >= 1);
    let refused = main.ask(&Request::get("/burstmetrics/services/ngsa/ngsa-svc-2"));
    assert_eq!(refused.status, 503);
    let words = "not readable: the Kubernetes API does not list ";
    assert!(
        refused.body.starts_with(words) && refused.body.ends_with(" in namespace ngsa\n"),
        "{}",
        refused.body
    );

    allow(&backend, vec![in_default, rule(&ALL, Some("ngsa"))]);
    main.wait_for_header(&Request::to("ngsa-svc-2.ngsa"), Some(NGSA_2));
    proxy.wait_for_stat("burst_unreadable_services_in_ngsa", |shown| shown == 0);
}

fn a_refused_kind_is_excluded_once_it_is_too_old_and_the_others_stay_current(version: Version) {
    let backend = Backend::sample();
    let (proxy, mut main) = Proxy::start(version, &backend, json!({"max_staleness": "40s"}));
    main.wait_for_header(&Request::to("queue.data"), Some(QUEUE));
    let traffic = Traffic::to(proxy.envoy.listener("main"), Request::to(NGSA_1_CLUSTER)).start();
    allow(
        &backend,
        vec![rule(&["horizontalpodautoscalers", "services", "deployments"], None)],
    );
    proxy.wait_for_stat("burst_unreadable_statefulsets", |shown| shown == 1);
    assert_eq!(
        main.ask(&Request::to("queue.data")).header("x-burst"),
        Some(QUEUE),
        "for a while"
    );
    main.wait_for_header(&Request::to("queue.data"), None);
    // The leader excludes the kind two seconds before the snapshot would be stale, if it gets to run then.
    if traffic.longest_gap() < STANDSTILL {
        assert_eq!(proxy.stat("burst_header_absent_stale_total"), 0);
        assert_eq!(traffic.count(|answer| answer.header("x-burst").is_none()), 0);
    }
    assert!(traffic.stop().iter().all(|answer| answer.status == 200));

    allow(&backend, vec![rule(&ALL, None)]);
    main.wait_for_header(&Request::to("queue.data"), Some(QUEUE));
}
