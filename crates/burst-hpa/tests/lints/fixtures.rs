//! An HPA, its target, and functions that change them.

use burst_hpa::{Node, Options, admit};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use serde_json::{Value, json};

/// An HPA without findings: two to ten replicas of `web` at 80 % of the requested CPU.
pub(crate) fn base() -> Value {
    json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 2, "maxReplicas": 10, "metrics": [cpu(80)],
        },
    })
}

pub(crate) fn cpu(utilization: i32) -> Value {
    let target = json!({"type": "Utilization", "averageUtilization": utilization});
    json!({"type": "Resource", "resource": {"name": "cpu", "target": target}})
}

/// A Deployment without findings: one container that requests CPU, and labels of its own.
pub(crate) fn deployment(name: &str) -> Value {
    let container = json!({"name": "app", "resources": {"requests": {"cpu": "1"}}});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name, "team": "shop"}}, "spec": {"containers": [container]}},
        },
    })
}

pub(crate) fn object(api_version: &str, kind: &str, spec: &Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "one"}, "spec": spec})
}

/// Returns the object with another value at a JSON pointer. Missing parents are created.
pub(crate) fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let name = name.replace("~1", "/");
    match object
        .pointer_mut(parent)
        .unwrap_or_else(|| panic!("nothing at {parent}"))
    {
        Value::Array(items) if name.parse() == Ok(items.len()) => items.push(value),
        Value::Array(items) => items[name.parse::<usize>().unwrap()] = value,
        fields => fields[name] = value,
    }
    object
}

/// Returns the HPA as an API server with the gate `HPAScaleToZero` stores it. That server accepts every HPA of these
/// tests.
pub(crate) fn hpa(object: &Value) -> HorizontalPodAutoscaler {
    let text = object.to_string();
    let options = Options {
        scale_to_zero: true,
        ..Options::default()
    };
    admit(&Node::from_json(&text).unwrap(), options).unwrap_or_else(|refusal| panic!("{refusal}\n{text}"))
}
