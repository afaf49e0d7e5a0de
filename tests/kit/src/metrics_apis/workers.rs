//! Deployments that the real HPA controller scales by the proxy's metrics.

use crate::{ControlPlane, wait};
use serde_json::{Value, json};

use super::{
    SOON, pods,
    shop::{NAMESPACE, deployment},
};

/// A Deployment of 2 to 10 replicas by default, scaled by one metric.
#[derive(Clone, Debug)]
pub struct Worker {
    /// The name of the Deployment and of its autoscaler.
    pub name: &'static str,
    /// The entry of `spec.metrics`.
    pub metric: Value,
    /// The fewest replicas.
    pub least: u32,
}

impl Worker {
    /// A worker with at least two replicas.
    pub fn new(name: &'static str, metric: Value) -> Self {
        Self { name, metric, least: 2 }
    }

    /// Creates the Deployment and its autoscaler.
    pub fn create(&self, cluster: &ControlPlane) {
        let Self { name, metric, least } = self;
        // An HPA does not touch a Deployment that was scaled to zero by hand.
        let deployment = deployment(name, &json!({"app": name}), (*least).max(1));
        // At once, in both directions: the test waits for each.
        let rules = json!({
            "stabilizationWindowSeconds": 0,
            "policies": [{"type": "Pods", "value": 10, "periodSeconds": 1}],
        });
        let autoscaler = json!({
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
                "minReplicas": least,
                "maxReplicas": 10,
                "metrics": [metric],
                "behavior": {"scaleUp": rules, "scaleDown": rules},
            },
        });
        cluster.apply(&format!("{deployment}\n---\n{autoscaler}"));
    }

    /// How many replicas it is to have.
    pub fn replicas(&self, cluster: &ControlPlane) -> String {
        let get = ["get", "deployment", self.name, "--namespace", NAMESPACE];
        cluster.kubectl(&[&get[..], &["--output=jsonpath={.spec.replicas}"]].concat())
    }

    /// What the condition ScalingActive of its autoscaler says.
    pub fn message(&self, cluster: &ControlPlane) -> String {
        let get = ["get", "hpa", self.name, "--namespace", NAMESPACE];
        let of = "--output=jsonpath={.status.conditions[?(@.type=='ScalingActive')].message}";
        cluster.kubectl(&[&get[..], &[of]].concat())
    }

    /// The condition ScalingActive of its autoscaler, as `True ValidMetricFound`; empty before the first look.
    pub fn activity(&self, cluster: &ControlPlane) -> String {
        let get = ["get", "hpa", self.name, "--namespace", NAMESPACE];
        let of = "{.status.conditions[?(@.type=='ScalingActive')]";
        let condition = format!("--output=jsonpath={of}.status}} {of}.reason}}");
        cluster.kubectl(&[&get[..], &[&condition]].concat()).trim().to_owned()
    }
}

/// Waits until all of them have their metric, and are to have that many replicas.
#[track_caller]
pub fn wait_for_replicas(cluster: &ControlPlane, workers: &[Worker], replicas: u32) {
    wait_for_replicas_while(cluster, workers, replicas, || {});
}

/// The same, and calls `tend` before each look.
#[track_caller]
pub fn wait_for_replicas_while(cluster: &ControlPlane, workers: &[Worker], replicas: u32, tend: impl Fn()) {
    let expected = replicas.to_string();
    wait::for_ok(SOON * 2, &format!("{replicas} replicas"), || {
        pods::mark_ready(cluster);
        tend();
        let found = |worker: &Worker| (worker.name, worker.activity(cluster), worker.replicas(cluster));
        let found: Vec<_> = workers.iter().map(found).collect();
        let there = found
            .iter()
            .all(|(_, activity, replicas)| activity == "True ValidMetricFound" && *replicas == expected);
        if there { Ok(()) } else { Err(format!("{found:#?}")) }
    });
}

/// Waits until the controller has found a value for each.
#[track_caller]
pub fn wait_until_active(cluster: &ControlPlane, workers: &[Worker]) {
    for worker in workers {
        wait::for_ok(SOON, worker.name, || {
            pods::mark_ready(cluster);
            let activity = worker.activity(cluster);
            if activity.starts_with("True") {
                Ok(())
            } else {
                Err(activity)
            }
        });
    }
}
