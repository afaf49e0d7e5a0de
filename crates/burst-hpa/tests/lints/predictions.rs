//! The effects that lints describe occur in the simulator, which other tests compare with the real controller.

use burst_hpa::simulate::Reading;
use serde_json::{Value, json};

use crate::cluster::SimulatedCluster;
use crate::fixtures::{base, cpu, deployment, with};
use crate::{alone, among, ids};

fn behavior(rules: &Value) -> Value {
    with(base(), "/spec/behavior", rules.clone())
}

fn metrics(metrics: Value) -> Value {
    with(base(), "/spec/metrics", metrics)
}

fn object_metric(target: &Value) -> Value {
    let object =
        json!({"describedObject": {"kind": "Ingress", "name": "in"}, "metric": {"name": "hits"}, "target": target});
    metrics(json!([{"type": "Object", "object": object}]))
}

fn external(target: &Value, selector: &Value) -> Value {
    let source = json!({"metric": {"name": "queue", "selector": selector}, "target": target});
    metrics(json!([{"type": "External", "external": source}]))
}

fn effect(object: &Value, id: &str) -> String {
    let findings = among(object, &[]);
    let found = findings.into_iter().find(|finding| finding.lint.id() == id);
    found.unwrap_or_else(|| panic!("no {id}: {object}")).effect
}

#[test]
fn metrics_that_a_lint_says_always_fail_do_fail() {
    let value = json!({"type": "Value", "value": "1"});
    let table = [
        (
            "object-target-type",
            object_metric(&json!({"type": "Value", "averageValue": "1"})),
            Reading::Object(5_000),
            "FailedGetObjectMetric",
        ),
        (
            "metric-selector",
            external(&value, &json!({"matchLabels": {"a b": "c"}})),
            Reading::External(vec![5_000]),
            "FailedGetExternalMetric",
        ),
    ];
    for (id, object, reading, reason) in table {
        effect(&object, id);
        let mut cluster = SimulatedCluster::new(&object, 3);
        assert_eq!(cluster.sync(&[reading]), 3, "{id}");
        assert_eq!(cluster.failure().as_deref(), Some(reason), "{id}");
    }
}

#[test]
fn a_missing_request_makes_the_metric_fail() {
    let bare = with(
        deployment("web"),
        "/spec/template/spec/containers/0",
        json!({"name": "app"}),
    );
    assert_eq!(ids(&among(&base(), &[bare])), ["missing-request"]);
    let mut cluster = SimulatedCluster::new(&base(), 3);
    cluster.requests = false;
    assert_eq!(cluster.cpu(300), 3);
    assert_eq!(cluster.failure().as_deref(), Some("FailedGetResourceMetric"));
}

#[test]
fn an_overflowing_target_gives_wrong_replicas() {
    let target = |value: &str| external(&json!({"type": "Value", "value": value}), &Value::Null);
    effect(&target("1E"), "target-overflow");
    // A hundred, where a quintillion is wanted.
    let reading = || [Reading::External(vec![100_000])];
    assert!(
        SimulatedCluster::new(&target("1E"), 5).sync(&reading()) > 5,
        "it should shrink"
    );
    assert_eq!(
        SimulatedCluster::new(&target("1P"), 5).sync(&reading()),
        5,
        "held by the window"
    );
}

#[test]
fn ignored_fields_change_nothing() {
    let plain = json!({"type": "AverageValue", "averageValue": "10"});
    let plain = external(&plain, &Value::Null);
    let other_type = external(&json!({"type": "Utilization", "averageValue": "10"}), &Value::Null);
    effect(&other_type, "ignored-target-type");
    let more = metrics(json!([cpu(80), cpu(80)]));
    effect(&more, "duplicate-metric");
    let field = with(base(), "/spec/metrics/0/resource/target/value", json!("5"));
    effect(&field, "ignored-target-field");
    for load in [1, 30_000, 90_000, 200_000] {
        let reading = [Reading::External(vec![load])];
        assert_eq!(
            SimulatedCluster::new(&other_type, 4).sync(&reading),
            SimulatedCluster::new(&plain, 4).sync(&reading)
        );
    }
    for percent in [1, 80, 100, 300] {
        let sound = SimulatedCluster::new(&base(), 4).cpu(percent);
        assert_eq!(SimulatedCluster::new(&field, 4).cpu(percent), sound);
        assert_eq!(SimulatedCluster::new(&more, 4).cpu(percent), sound);
    }
}

#[test]
fn with_a_wide_tolerance_nothing_scales() {
    let up = behavior(&json!({"scaleUp": {"tolerance": "1.5"}}));
    let text = effect(&up, "wide-tolerance");
    assert!(
        text.contains("the controller scales up only above 250 % of the target"),
        "{text}"
    );
    assert_eq!(
        SimulatedCluster::new(&up, 3).cpu(200),
        3,
        "2.5 times the target of 80 %"
    );
    assert!(SimulatedCluster::new(&up, 3).cpu(201) > 3);

    let down = behavior(&json!({"scaleDown": {"tolerance": "1", "stabilizationWindowSeconds": 0}}));
    let text = effect(&down, "wide-tolerance");
    assert!(
        text.contains("the controller never scales down, even without load"),
        "{text}"
    );
    assert_eq!(SimulatedCluster::new(&down, 10).cpu(0), 10);
}

#[test]
fn within_the_dead_band_many_pods_may_be_missing() {
    let large = with(base(), "/spec/maxReplicas", json!(200));
    assert_eq!(
        effect(&large, "dead-band"),
        "The controller does nothing while a metric is 90 % to 110 % of its target. Of 200 pods, 20 can be missing before it scales up."
    );
    // 88 % of the requests is 110 % of the target: at 80 % the same load needs a tenth more.
    assert_eq!(SimulatedCluster::new(&large, 180).cpu(88), 180);
    assert_eq!(SimulatedCluster::new(&large, 180).cpu(89), 200, "201 are proposed");
    let finer = with(large, "/spec/behavior", json!({"scaleUp": {"tolerance": "0.05"}}));
    assert_eq!(ids(&among(&finer, &[])), [""; 0]);
    assert!(SimulatedCluster::new(&finer, 180).cpu(88) >= 198);
    assert_eq!(ids(&alone("/spec/maxReplicas", json!(99))), [""; 0]);
}

#[test]
fn utilization_that_limits_keep_within_the_tolerance_scales_nothing_up() {
    let limited = with(
        deployment("web"),
        "/spec/template/spec/containers/0/resources/limits",
        json!({"cpu": "1"}),
    );
    for (target, unreachable) in [(101, true), (95, true), (91, true), (90, false)] {
        let object = metrics(json!([cpu(target)]));
        let found = !among(&object, std::slice::from_ref(&limited)).is_empty();
        assert_eq!(found, unreachable, "{target}");
        assert_eq!(SimulatedCluster::new(&object, 4).cpu(100) == 4, unreachable, "{target}");
    }
}

#[test]
fn without_a_window_one_low_reading_scales_to_the_minimum() {
    let hasty = behavior(&json!({"scaleDown": {"stabilizationWindowSeconds": 0}}));
    effect(&hasty, "hasty-scale-down");
    let fall = |object: &Value| {
        let mut cluster = SimulatedCluster::new(object, 10);
        cluster.cpu(80);
        cluster.cpu(1)
    };
    assert_eq!(fall(&hasty), 2);
    assert_eq!(fall(&base()), 10);
    let careful = json!({"scaleDown": {
        "stabilizationWindowSeconds": 0, "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}],
    }});
    assert_eq!(ids(&among(&behavior(&careful), &[])), [""; 0]);
    assert_eq!(fall(&behavior(&careful)), 9);
}

#[test]
fn a_scale_down_takes_as_long_as_the_lint_says() {
    let slow = behavior(&json!({"scaleDown": {
        "stabilizationWindowSeconds": 0, "policies": [{"type": "Pods", "value": 1, "periodSeconds": 600}],
    }}));
    let text = effect(&slow, "slow-scale-down");
    let mut cluster = SimulatedCluster::new(&slow, 10);
    let minutes = cluster.seconds_until(2, 1) / 60;
    // A change counts until its period is over, so the next comes a sync later.
    assert!((70..=72).contains(&minutes), "{minutes}");
    assert!(
        text.contains(&format!("takes {minutes} minutes")),
        "{text}, not {minutes} minutes"
    );
}

#[test]
fn a_disabled_direction_never_scales() {
    let fixed = behavior(&json!({"scaleDown": {"selectPolicy": "Disabled", "stabilizationWindowSeconds": 0}}));
    effect(&fixed, "disabled-direction");
    let mut cluster = SimulatedCluster::new(&fixed, 10);
    assert!((0..40).all(|_| cluster.cpu(0) == 10));
}

#[test]
fn percentage_policies_never_scale_up_from_zero() {
    let (percent, pods) = (("Percent", 900), ("Pods", 1));
    let table: [(_, &[_], _); 5] = [
        ("Max", &[percent], true),
        ("Max", &[percent, pods], false),
        ("Min", &[percent, pods], true),
        ("Min", &[pods], false),
        ("Max", &[], false),
    ];
    for (select, policies, stuck) in table {
        let policy = |&(kind, value)| json!({"type": kind, "value": value, "periodSeconds": 60});
        let policies: Vec<_> = policies.iter().map(policy).collect();
        // Without policies, the defaults apply.
        let policies = (!policies.is_empty()).then_some(policies);
        let rules = json!({"scaleUp": {"selectPolicy": select, "policies": policies}});
        let queue = external(&json!({"type": "AverageValue", "averageValue": "10"}), &Value::Null);
        let object = with(
            with(queue, "/spec/behavior", rules.clone()),
            "/spec/minReplicas",
            json!(0),
        );
        let expected: &[&str] = if stuck { &["stuck-at-zero"] } else { &[] };
        assert_eq!(ids(&among(&object, &[])), expected, "{rules}");
        assert_eq!(
            ids(&among(&with(object.clone(), "/spec/minReplicas", json!(1)), &[])),
            [""; 0]
        );

        let mut cluster = SimulatedCluster::new(&object, 2);
        let mut after = |syncs, load| {
            (0..syncs)
                .map(|_| cluster.sync(&[Reading::External(vec![load])]))
                .last()
        };
        assert_eq!(after(40, 0), Some(0), "{rules}");
        assert_eq!(after(40, 90_000) == Some(0), stuck, "{rules}");
    }
}

#[test]
fn a_rollout_that_doubles_the_pods_doubles_the_desired_replicas() {
    let surging = |surge: Value| {
        let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge}});
        with(deployment("web"), "/spec/strategy", strategy)
    };
    let large = with(base(), "/spec/maxReplicas", json!(40));
    for (surge, found) in [
        (json!("100%"), true),
        (json!(20), true),
        (json!("45%"), false),
        (json!(19), false),
    ] {
        let expected: &[&str] = if found { &["rollout-surge"] } else { &[] };
        assert_eq!(ids(&among(&large, &[surging(surge.clone())])), expected, "{surge}");
    }
    let recreated = with(deployment("web"), "/spec/strategy", json!({"type": "Recreate"}));
    assert_eq!(ids(&among(&large, &[recreated])), [""; 0]);

    let replicas_with_surge = |surge| {
        let mut cluster = SimulatedCluster::new(&large, 10);
        cluster.surge = surge;
        cluster.cpu(100)
    };
    assert_eq!((replicas_with_surge(0), replicas_with_surge(5)), (13, 19));
}

#[test]
fn utilization_above_the_request_is_found_where_nothing_limits_it() {
    let object = metrics(json!([cpu(120)]));
    assert_eq!(ids(&among(&object, &[deployment("web")])), ["above-request"]);
    assert_eq!(ids(&among(&base(), &[deployment("web")])), [""; 0]);
}
