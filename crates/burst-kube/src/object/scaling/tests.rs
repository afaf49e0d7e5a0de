use super::*;
use serde_json::json;

const CONDITIONS: [(&str, &str, &str); 3] = [
    ("AbleToScale", "True", "ReadyForNewScale"),
    ("ScalingActive", "True", "ValidMetricFound"),
    ("ScalingLimited", "False", "DesiredWithinRange"),
];

fn conditions(all: &[(&str, &str, &str)]) -> Value {
    let one =
        |(r#type, status, reason): &(&str, &str, &str)| json!({"type": r#type, "status": status, "reason": reason});
    all.iter().map(one).collect()
}

/// A metric of one kind of source, with a target and the value in the status.
fn metric(source: &str, identity: &Value, target: &Value, current: &Value) -> (Value, Value) {
    let with = |key: &str, values: &Value| {
        let mut fields = identity.clone();
        fields[key] = values.clone();
        json!({"type": "Any", source: fields})
    };
    (with("target", target), with("current", current))
}

fn cpu(target: i32, current: i32) -> (Value, Value) {
    metric(
        "resource",
        &json!({"name": "cpu"}),
        &json!({"type": "Utilization", "averageUtilization": target}),
        &json!({"averageUtilization": current, "averageValue": "77m"}),
    )
}

fn named(source: &str, target: &Value, current: &Value) -> (Value, Value) {
    metric(source, &json!({"metric": {"name": "jobs"}}), target, current)
}

/// An HPA of 2 to 10 replicas.
fn item(current: u32, metrics: &[(Value, Value)]) -> Value {
    let (spec, status): (Vec<_>, Vec<_>) = metrics.iter().cloned().unzip();
    json!({
        "spec": {"minReplicas": 2, "maxReplicas": 10, "metrics": spec},
        "status": {
            "currentReplicas": current,
            "desiredReplicas": current,
            "currentMetrics": status,
            "conditions": conditions(&CONDITIONS),
        },
    })
}

fn read_json(item: &Value) -> Scaling {
    read(item.to_string().as_bytes())
}

fn demand_of(current: u32, metrics: &[(Value, Value)]) -> Option<u32> {
    read_json(&item(current, metrics)).demand
}

#[test]
fn the_demand_is_what_the_controller_would_want_of_each_kind_of_target() {
    let average = |value: &str| json!({"averageValue": value});
    let value = |value: &str| json!({"type": "Value", "value": value});
    for (current, metric, demand) in [
        (3, cpu(50, 100), 6),
        (3, cpu(50, 101), 7),
        (4, cpu(80, 20), 1),
        (3, named("pods", &average("10"), &average("25")), 8),
        (3, named("pods", &average("10"), &average("10")), 3),
        (2, named("object", &value("10"), &value("35")), 7),
        (2, named("external", &value("500m"), &value("2")), 8),
        // 100 of 10 a replica: the status has 33.334 for each of the three.
        (3, named("external", &average("10"), &average("33334m")), 10),
        (3, named("external", &average("10"), &average("33400m")), 11),
        (4, named("object", &average("10"), &average("25")), 10),
        // Both are given, and the type decides only for an object.
        (
            2,
            named(
                "object",
                &json!({"type": "Value", "value": "10", "averageValue": "1"}),
                &value("30"),
            ),
            6,
        ),
        // No replicas yet: the value alone decides.
        (0, named("external", &value("10"), &value("35")), 4),
        (
            2,
            metric(
                "containerResource",
                &json!({"name": "memory", "container": "app"}),
                &average("1Gi"),
                &average("1536Mi"),
            ),
            3,
        ),
    ] {
        assert_eq!(
            demand_of(current, std::slice::from_ref(&metric)),
            Some(demand),
            "{current} {metric:?}"
        );
    }
}

#[test]
fn the_metric_that_wants_most_decides() {
    assert_eq!(demand_of(3, &[cpu(50, 100), cpu(50, 150), cpu(50, 10)]), Some(9));
}

#[test]
fn a_metric_without_a_value_hides_what_is_below_the_current_replicas() {
    let unread = (cpu(50, 100).0, json!({"type": ""}));
    assert_eq!(
        demand_of(3, &[cpu(50, 100), unread.clone()]),
        Some(6),
        "the controller scales up"
    );
    assert_eq!(demand_of(3, &[unread.clone(), cpu(50, 10)]), None, "and not down");
    assert_eq!(demand_of(3, &[unread]), None);
    assert_eq!(demand_of(3, &[]), None);
}

#[test]
fn values_that_say_nothing_give_no_demand() {
    let average = |value: &str| json!({"averageValue": value});
    let other = metric(
        "resource",
        &json!({"name": "memory"}),
        &json!({}),
        &cpu(50, 100).1["resource"]["current"],
    );
    for (current, metric) in [
        (3, (cpu(50, 100).0, other.1)),
        (3, (cpu(50, 100).0, named("pods", &json!({}), &average("1")).1)),
        (3, cpu(0, 100)),
        (3, named("pods", &average("0"), &average("1"))),
        (3, named("pods", &average("x"), &average("1"))),
        (3, named("pods", &average("1E"), &average("1"))),
        (3, named("pods", &average("1"), &json!({}))),
        (3, named("pods", &json!({}), &average("1"))),
        (0, named("external", &average("1"), &average("1"))),
        (0, cpu(50, 100)),
    ] {
        assert_eq!(
            demand_of(current, std::slice::from_ref(&metric)),
            None,
            "{current} {metric:?}"
        );
    }
}

#[test]
fn the_state_is_the_one_of_the_highest_precedence() {
    let steady = item(3, &[cpu(50, 50)]);
    let with = |changes: &[(&str, Value)]| {
        let mut item = steady.clone();
        for (pointer, value) in changes {
            *item.pointer_mut(pointer).expect(pointer) = value.clone();
        }
        item
    };
    let condition = |index: usize, status: &str, reason: &str| {
        let mut all = CONDITIONS;
        (all[index].1, all[index].2) = (status, reason);
        ("/status/conditions", conditions(&all))
    };
    let fixed = ("/spec/minReplicas", json!(10));
    let scaling = ("/status/desiredReplicas", json!(5));
    let above = (
        "/status/currentMetrics/0/resource/current/averageUtilization",
        json!(200),
    );
    let none = ("/status/conditions", json!(null));
    let limited = condition(2, "True", "TooManyReplicas");
    let unread = condition(1, "False", "FailedGetResourceMetric");
    for (changes, state) in [
        (vec![], "ok"),
        (vec![condition(2, "True", "TooFewReplicas")], "ok"),
        (vec![condition(2, "True", "ScaleUpLimit")], "ok"),
        (vec![condition(2, "False", "TooManyReplicas")], "ok"),
        (vec![fixed.clone()], "fixed"),
        (vec![scaling.clone()], "scaling"),
        (vec![scaling.clone(), fixed.clone()], "scaling"),
        (vec![none.clone()], "unknown"),
        (vec![none.clone(), scaling.clone(), fixed.clone()], "unknown"),
        (vec![limited.clone()], "limited"),
        (vec![above.clone()], "limited"),
        (vec![above.clone(), none], "limited"),
        (vec![limited, scaling.clone(), fixed.clone()], "limited"),
        (vec![unread.clone()], "blocked"),
        (vec![condition(0, "False", "FailedGetScale")], "blocked"),
        (vec![unread, above, scaling, fixed], "blocked"),
    ] {
        let Scaling { demand, state: found } = read_json(&with(&changes));
        assert_eq!(found.name(), state, "{changes:?}");
        assert_eq!(demand.is_none(), state == "blocked", "{changes:?}: {demand:?}");
    }
}

#[test]
fn a_minimum_that_is_not_given_is_1() {
    let one = json!({"spec": {"maxReplicas": 1}, "status": {"conditions": conditions(&CONDITIONS)}});
    assert_eq!(read_json(&one).state, ScalingState::Fixed);
}

#[test]
fn a_status_of_another_form_is_unknown() {
    for item in [
        json!({"spec": {"maxReplicas": 5}}),
        json!({"spec": {"maxReplicas": 5}, "status": null}),
        json!({"spec": {"maxReplicas": 5}, "status": {"currentReplicas": 1, "conditions": "fine"}}),
        json!({"spec": {"maxReplicas": 5}, "status": {"currentReplicas": 1, "currentMetrics": [7]}}),
        json!(7),
    ] {
        let Scaling { demand, state } = read_json(&item);
        assert_eq!((demand, state), (None, ScalingState::Unknown), "{item}");
    }
}
