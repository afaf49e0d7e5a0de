//! The namespace `shop`: two Services, in front of a Deployment each, with an autoscaler each.

use crate::ControlPlane;
use serde_json::{Value, json};

/// The namespace.
pub const NAMESPACE: &str = "shop";

/// The Services, which have the names of their Deployments and autoscalers; how many replicas there are and may be; and
/// a label of all three.
pub const SERVICES: [(&str, u32, u32, &str); 2] = [("web", 1, 5, "front"), ("api", 2, 10, "back")];

/// Creates the objects.
pub fn create(cluster: &ControlPlane) {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    let services = SERVICES.iter().flat_map(|(name, replicas, max, tier)| {
        let labels = json!({"app": name, "tier": tier});
        [
            service(name, &labels),
            deployment(name, &labels, *replicas),
            autoscaler(name, &labels, *max),
        ]
    });
    let objects: Vec<_> = std::iter::once(namespace)
        .chain(services)
        .map(|object| object.to_string())
        .collect();
    cluster.apply(&objects.join("\n---\n"));
}

/// Gives the autoscalers the status that their controller would.
pub fn observe(cluster: &ControlPlane) {
    let condition = json!({"type": "AbleToScale", "status": "True", "reason": "ReadyForNewScale"});
    for (name, replicas, ..) in SERVICES {
        let status = json!({"status": {
            "currentReplicas": replicas, "desiredReplicas": replicas, "conditions": [condition],
        }});
        let patch = [
            "patch",
            "hpa",
            name,
            "--namespace",
            NAMESPACE,
            "--subresource=status",
            "--type=merge",
            "--patch",
        ];
        cluster.kubectl(&[&patch[..], &[&status.to_string()]].concat());
    }
}

/// A Deployment; no kubelet runs its pods.
pub fn deployment(name: &str, labels: &Value, replicas: u32) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "app", "image": "app"}]},
            },
        },
    })
}

fn service(name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": 8080}]},
    })
}

/// An HPA without a metric that exists: no metrics API here serves the CPU time of pods.
fn autoscaler(name: &str, labels: &Value, max: u32) -> Value {
    json!({
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "maxReplicas": max,
        },
    })
}
