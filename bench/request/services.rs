//! Services with an HPA and a Deployment each, and their headers.

use burst_lab::cluster::Cluster;
use serde_json::json;

/// Returns a cluster of so many Services.
pub(crate) fn cluster(services: usize) -> Cluster {
    let cluster = Cluster::new();
    for number in 0..services {
        let name = format!("web-{number}");
        let metadata = json!({"name": name, "namespace": "shop"});
        let labels = json!({"app": name});
        let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name});
        let condition = json!({"type": "AbleToScale", "status": "True", "reason": "ReadyForNewScale"});
        for object in [
            json!({
                "apiVersion": "v1", "kind": "Service", "metadata": metadata,
                "spec": {"selector": labels, "ports": [{"port": 80}]},
            }),
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
                "spec": {
                    "selector": {"matchLabels": labels},
                    "template": {"metadata": {"labels": labels}, "spec": {"containers": []}},
                },
            }),
            json!({
                "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata,
                "spec": {"scaleTargetRef": target, "maxReplicas": 5},
                "status": {"currentReplicas": 1, "desiredReplicas": 1, "conditions": [condition]},
            }),
        ] {
            cluster.apply(object).expect("a registered kind");
        }
    }
    cluster
}

/// Returns the host name of a Service.
pub(crate) fn host(number: usize) -> String {
    format!("web-{number}.shop.svc.cluster.local")
}

/// Returns the header of its responses.
pub(crate) fn header(number: usize) -> String {
    format!("service=shop/web-{number}, current-load=1, target-load=4, max-load=5")
}
