//! Made-up autoscalers, as the API server would store them.

use fastrand::Rng;
use k8s_openapi::api::autoscaling::v2::{
    HorizontalPodAutoscaler, HorizontalPodAutoscalerBehavior, HorizontalPodAutoscalerStatus,
};
use serde_json::{Value, json};

use crate::random::{chance, pick};

/// An autoscaler of the Deployment `shop/web`; `zero` allows no replicas, `huge` numbers near the ends of their range.
pub(crate) fn hpa(rng: &mut Rng, zero: bool, huge: bool) -> HorizontalPodAutoscaler {
    let mut metrics = metrics(rng, huge);
    let is_single_value = |metric: &Value| metric["type"] == "Object" || metric["type"] == "External";
    let mut min = rng.i32(1..=4);
    if zero && chance(rng, 0.7) {
        min = 0;
        if !metrics.iter().any(is_single_value) {
            metrics.push(external(rng, "queue", false));
        }
    }
    let max = if huge {
        pick(rng, &[200, 100_000, i32::MAX])
    } else {
        min.max(1) + rng.i32(0..=12)
    };
    let spec = json!({
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "minReplicas": min,
        "maxReplicas": max,
        "metrics": metrics,
        "behavior": behavior(rng, huge),
    });
    let metadata = json!({"name": "web", "namespace": "shop"});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
}

/// Without a behavior, the controller follows other rules than with any behavior.
pub(crate) fn behavior(rng: &mut Rng, huge: bool) -> Option<HorizontalPodAutoscalerBehavior> {
    let written = json!({"scaleUp": rules(rng, true, huge), "scaleDown": rules(rng, false, huge)});
    chance(rng, 0.6).then(|| serde_json::from_value(written).unwrap())
}

/// The status that an earlier controller wrote. That controller may have scaled to zero.
pub(crate) fn status(rng: &mut Rng) -> HorizontalPodAutoscalerStatus {
    let (status, reason) = pick(
        rng,
        &[
            ("True", "ScaledToZero"),
            ("True", "ScaledToZero"),
            ("False", "NotScaledToZero"),
        ],
    );
    let condition = json!({
        "type": "ScaledToZero",
        "status": status,
        "reason": reason,
        "lastTransitionTime": "2000-01-01T00:00:00Z",
    });
    serde_json::from_value(json!({"currentReplicas": 2, "desiredReplicas": 3, "conditions": [condition]})).unwrap()
}

/// One to four metrics, no two of the same series.
fn metrics(rng: &mut Rng, huge: bool) -> Vec<Value> {
    let mut all = vec![
        resource(rng, "cpu"),
        resource(rng, "memory"),
        container(rng, "cpu", "app"),
        container(rng, "cpu", "proxy"),
        pods(rng, huge),
        object(rng, huge),
        external(rng, "orders", huge),
        external(rng, "backlog", huge),
    ];
    rng.shuffle(&mut all);
    all.truncate(pick(rng, &[1, 1, 1, 2, 2, 3, 4]));
    all
}

fn resource(rng: &mut Rng, name: &str) -> Value {
    json!({"type": "Resource", "resource": {"name": name, "target": resource_target(rng, name)}})
}

fn container(rng: &mut Rng, name: &str, container: &str) -> Value {
    let source = json!({"name": name, "container": container, "target": resource_target(rng, name)});
    json!({"type": "ContainerResource", "containerResource": source})
}

fn resource_target(rng: &mut Rng, name: &str) -> Value {
    if chance(rng, 0.7) {
        return json!({"type": "Utilization", "averageUtilization": pick(rng, &[1, 30, 50, 70, 80, 100, 150, 250])});
    }
    let values = if name == "cpu" {
        ["100m", "250m", "1"]
    } else {
        ["64Mi", "1Gi", "300M"]
    };
    json!({"type": "AverageValue", "averageValue": pick(rng, &values)})
}

fn pods(rng: &mut Rng, huge: bool) -> Value {
    let target = json!({"type": "AverageValue", "averageValue": pick(rng, &["10", "1", "333m", if huge { "1E" } else { "1500m" }])});
    json!({"type": "Pods", "pods": {"metric": metric(rng, "requests"), "target": target}})
}

fn object(rng: &mut Rng, huge: bool) -> Value {
    let mut target = whole_target(rng, huge);
    if chance(rng, 0.05) {
        // The API server accepts this type, and the metric never works.
        target["type"] = json!("Utilization");
    }
    let object = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "front"});
    json!({"type": "Object", "object": {"describedObject": object, "metric": metric(rng, "hits"), "target": target}})
}

fn external(rng: &mut Rng, name: &str, huge: bool) -> Value {
    json!({"type": "External", "external": {"metric": metric(rng, name), "target": whole_target(rng, huge)}})
}

fn whole_target(rng: &mut Rng, huge: bool) -> Value {
    let values = if huge {
        ["1m", "1", "2P", "1E"]
    } else {
        ["100", "7", "250m", "1k"]
    };
    let value = pick(rng, &values);
    if chance(rng, 0.5) {
        json!({"type": "Value", "value": value})
    } else {
        json!({"type": "AverageValue", "averageValue": value})
    }
}

fn metric(rng: &mut Rng, name: &str) -> Value {
    let selectors = [
        json!({"matchLabels": {"team": "shop", "app": "web"}}),
        json!({"matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}]}),
        json!({"matchExpressions": [{"key": "tier", "operator": "Exists"}], "matchLabels": {"app": "web"}}),
        json!({"matchExpressions": [{"key": "tier", "operator": "Like", "values": ["a"]}]}),
        json!({"matchExpressions": [{"key": "tier", "operator": "NotIn"}]}),
        json!({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist", "values": ["a", "b c"]}]}),
        json!({"matchExpressions": [{"key": "-/tier", "operator": "In", "values": ["a"]}]}),
        json!({"matchLabels": {"tier": "not/allowed"}}),
    ];
    match rng.usize(..20) {
        0..14 => json!({"name": name}),
        14..18 => json!({"name": name, "selector": pick(rng, &selectors[..3])}),
        _ => json!({"name": name, "selector": pick(rng, &selectors)}),
    }
}

/// Scaling rules as defaulting leaves them: the scale-down window alone may be unset.
fn rules(rng: &mut Rng, up: bool, huge: bool) -> Value {
    let policies: Vec<_> = (0..pick(rng, &[1, 1, 2, 2, 3])).map(|_| policy(rng, huge)).collect();
    let mut rules =
        json!({"policies": policies, "selectPolicy": pick(rng, &["Max", "Max", "Max", "Min", "Min", "Disabled"])});
    if up || chance(rng, 0.7) {
        rules["stabilizationWindowSeconds"] = pick(rng, &[0, 0, 15, 30, 60, 100, 180, 300, 900]).into();
    }
    if chance(rng, 0.3) {
        rules["tolerance"] = pick(rng, &["0", "10m", "50m", "333m", "12500u", "1", "1500m"]).into();
    }
    rules
}

fn policy(rng: &mut Rng, huge: bool) -> Value {
    let period = pick(rng, &[1, 15, 15, 30, 45, 60, 60, 100, 180, 600]);
    let value = match (chance(rng, 0.5), huge && chance(rng, 0.3)) {
        (_, true) => i32::MAX - rng.i32(0..3),
        (true, _) => return json!({"type": "Pods", "value": rng.i32(1..=6), "periodSeconds": period}),
        (false, _) => pick(rng, &[1, 10, 25, 33, 50, 100, 100, 200, 900]),
    };
    json!({"type": pick(rng, &["Percent", "Percent", "Pods"]), "value": value, "periodSeconds": period})
}
