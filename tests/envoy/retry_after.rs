//! `Retry-After` on a real Envoy: the example of `filter-config/`.

use std::collections::BTreeSet;

use burst_lab::cluster::HPAS;
use burst_testkit::{
    Version,
    filter::{Backend, PATIENCE},
    wait,
};
use serde_json::json;

use super::signals::Example;

on_each_envoy!(clients_that_a_limited_service_refuses_come_back_at_different_times,);

fn clients_that_a_limited_service_refuses_come_back_at_different_times(version: Version) {
    let backend = Backend::sample();
    let example = Example::start_with(version, "21-retry-after.yaml", &backend, &[]);
    let delay = |status: u16| {
        let answer = example.ask("web", &format!("/echo/{status}/0"), &[]);
        assert_eq!(answer.status, status);
        answer
            .header("retry-after")
            .map(|delay| delay.parse::<u64>().expect("seconds"))
    };
    wait::until(PATIENCE, "the cluster is read", || {
        example.ask("web", "/", &[]).header("x-burst").is_some()
    });
    assert_eq!(delay(503), None, "the service can grow");
    // 10 of 5 replicas, by a target of 70 %.
    let seen = json!({"name": "cpu", "current": {"averageUtilization": 140}});
    let status = json!({
        "currentReplicas": 5,
        "desiredReplicas": 5,
        "currentMetrics": [{"type": "Resource", "resource": seen}],
    });
    let patched = backend
        .cluster
        .patch(HPAS, "default/ngsa-hpa-1", &json!({"status": status}));
    patched.expect("the HPA");
    wait::until(PATIENCE, "a delay", || delay(503).is_some());
    let delays: BTreeSet<_> = (0..50).filter_map(|_| delay(503)).collect();
    assert!(delays.iter().all(|delay| (15..=45).contains(delay)), "{delays:?}");
    assert!(delays.len() > 5, "{delays:?}");
    assert!(delay(429).is_some());
    assert_eq!([200, 500].map(delay), [None, None]);
}
