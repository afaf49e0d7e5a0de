//! Invalid objects, and kinds that the cluster does not have.

use burst_lab::api::Fault;
use burst_lab::cluster::{HPAS, Resource};
use burst_testkit::{
    Version,
    filter::{Backend, NGSA_1, NGSA_1_CLUSTER, PATIENCE, Proxy, listing},
    http::Request,
    wait,
};
use serde_json::json;

use super::{failed_twice, failure_line};

on_each_envoy!(
    a_malformed_object_excludes_only_that_object,
    a_kind_that_the_cluster_lacks_has_no_effect,
    objects_that_no_api_server_sends_trap_no_vm,
    large_invalid_objects_that_change_all_the_time_write_few_log_lines,
);

fn a_malformed_object_excludes_only_that_object(version: Version) {
    let backend = Backend::sample();
    let (proxy, mut main) = Proxy::start(version, &backend, listing(json!({})));
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    proxy.wait_for_main_thread();
    let object = Some("ngsa/ngsa-hpa-2".to_owned());
    backend.api.faults.inject(HPAS, Fault::MalformedObject { object });
    let its_own = Request::get("/burstmetrics/hpas/ngsa/ngsa-hpa-2");
    main.wait(&its_own, "the malformed HPA is gone", |answer| answer.status == 204);
    failed_twice(&backend, HPAS);
    proxy.wait_for_stat("burst_bad_objects", |count| count == 1);
    let lines = proxy.log_lines("excluded HorizontalPodAutoscaler ");
    let [line] = &lines[..] else {
        panic!("one line: {lines:#?}")
    };
    assert!(
        line.contains("ngsa/ngsa-hpa-2: invalid type: string \"not a spec\""),
        "{line}"
    );
    assert_eq!(proxy.stat("burst_poll_malformed_total"), 0, "the list itself is good");
    backend.scale_ngsa_1(3);
    let risen = NGSA_1.replace("current-load=1", "current-load=3");
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&risen));
    backend.api.faults.clear();
    main.wait(&its_own, "the HPA is back", |answer| answer.status == 200);
    proxy.wait_for_stat("burst_bad_objects", |count| count == 0);
}

fn a_kind_that_the_cluster_lacks_has_no_effect(version: Version) {
    let backend = Backend::sample();
    let workloads = json!([
        {"group": "apps", "version": "v1", "resource": "deployments", "kind": "Deployment"},
        {"group": "argoproj.io", "version": "v1alpha1", "resource": "rollouts", "kind": "Rollout"},
    ]);
    let (proxy, mut main) = Proxy::start(version, &backend, listing(json!({"workloads": workloads})));
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    let rollouts = Request::get("/burstmetrics/rollouts");
    assert_eq!(main.ask(&rollouts).status, 204);
    let line = failure_line(&proxy, "rollouts.argoproj.io");
    assert!(
        line.ends_with("; check that the cluster serves rollouts.argoproj.io v1alpha1"),
        "{line}"
    );

    backend
        .cluster
        .register(Resource::custom("argoproj.io", "v1alpha1", "rollouts", "Rollout"));
    for object in [
        json!({
            "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
            "metadata": {"name": "api", "namespace": "shop"}, "spec": {"template": {}},
        }),
        json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "api", "namespace": "shop"},
            "spec": {
                "scaleTargetRef": {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "api"},
                "maxReplicas": 10,
            },
            "status": {"currentReplicas": 2, "desiredReplicas": 2},
        }),
    ] {
        backend.cluster.apply(object).expect("an object");
    }
    main.wait(&rollouts, "a kind that came later", |answer| {
        answer.body.contains("\"shop/api\"")
    });
    failure_line(&proxy, "rollouts.argoproj.io");
}

/// Objects that no API server sends, and a valid HPA.
fn odd_objects() -> Vec<String> {
    let hpa = |name: &str, max: &str, current: &str, more: &str| {
        let target = r#"{"apiVersion":"apps/v1","kind":"Deployment","name":"ngsa-1"}"#;
        format!(r#"{{"metadata":{{"name":"{name}","namespace":"default","resourceVersion":"1"}},"#,)
            + &format!(
                r#""spec":{{"scaleTargetRef":{target},"maxReplicas":{max}}},"status":{{"currentReplicas":{current}}}{more}}}"#
            )
    };
    let deep = format!(r#","x":{}{}"#, "[".repeat(100_000), "]".repeat(100_000));
    vec![
        hpa(&"n".repeat(100_000), "5", "1", ""),
        hpa("zz-deep", "5", "1", &deep),
        hpa("zz-huge", "99999999999999999999", "1e999", ""),
        hpa("zz-less", "5", "-1", ""),
        hpa("zz-twice", "5", "1", r#","spec":{"maxReplicas":1}"#),
        hpa("a-good-one", "9", "7", ""),
    ]
}

/// `tests/filter` checks the result for each object natively. This test checks the stack of a real VM.
fn objects_that_no_api_server_sends_trap_no_vm(version: Version) {
    let seven = NGSA_1.replace(
        "current-load=1, target-load=4, max-load=5",
        "current-load=7, target-load=7, max-load=9",
    );
    for keys in [listing(json!({})), json!({})] {
        let backend = Backend::sample();
        let (proxy, mut main) = Proxy::start(version, &backend, keys);
        main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
        let objects = odd_objects();
        backend.api.faults.inject(HPAS, Fault::Also { objects });
        // If two HPAs scale one workload, the first by name counts.
        main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&seven));
        backend.api.faults.clear();
        backend.api.faults.inject(HPAS, Fault::NotText);
        backend.scale_ngsa_1(2);
        proxy.wait_for_stat("burst_poll_malformed_total", |count| count >= 1);
        assert_eq!(main.ask(&Request::to(NGSA_1_CLUSTER)).header("x-burst"), Some(&*seven));
        assert!(proxy.log_lines("Uncaught").is_empty(), "a VM died");
        let longest = proxy.envoy.log().lines().map(str::len).max();
        assert!(longest < Some(4_000), "a line of {longest:?} bytes");
    }
}

/// Ten invalid objects with a megabyte of text each, which differs in each round.
fn bad_megabytes(round: usize) -> Vec<String> {
    let text = format!("{round}\\u001b[31m\\r\\n{}", "x".repeat(1 << 20));
    let bad = |n| {
        let metadata = format!(r#"{{"name":"bad-{n}","namespace":"default","resourceVersion":"1"}}"#);
        format!(r#"{{"metadata":{metadata},"spec":{{"scaleTargetRef":{{}},"maxReplicas":"{text}"}}}}"#)
    };
    (0..10).map(bad).collect()
}

fn large_invalid_objects_that_change_all_the_time_write_few_log_lines(version: Version) {
    let backend = Backend::sample();
    let (proxy, mut main) = Proxy::start(version, &backend, listing(json!({})));
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    proxy.wait_for_main_thread();
    let before = proxy.envoy.log().len();
    let listed = || backend.api.requests.count(|seen| seen.resource == HPAS);
    for round in 0..10 {
        let asked = listed();
        backend.api.faults.clear();
        let objects = bad_megabytes(round);
        backend.api.faults.inject(HPAS, Fault::Also { objects });
        wait::until(PATIENCE, "another list", || listed() > asked);
    }
    proxy.wait_for_stat("burst_bad_objects", |count| count == 10);
    let lines = proxy.log_lines("excluded HorizontalPodAutoscaler default/bad-");
    assert!(
        (10..=10 * proxy.leader_changes()).contains(&lines.len()),
        "{} lines",
        lines.len()
    );
    let grown = proxy.envoy.log().len() - before;
    assert!(grown < 40_000, "{grown} bytes of log");
    assert!(proxy.log_lines("Uncaught").is_empty(), "a VM died");
    let risen = NGSA_1.replace("current-load=1", "current-load=3");
    backend.scale_ngsa_1(3);
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&risen));
}
