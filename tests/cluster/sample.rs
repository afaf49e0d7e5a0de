//! The sample cluster: the pair of seed 000, a StatefulSet, and a Service over two workloads.

use std::fs;

use burst_testkit::{ControlPlane, repository};
use serde_json::json;

/// The Services, as the Envoy clusters of a [`crate::gateway::Gateway`] are called.
pub(crate) const SERVICES: [&str; 4] = ["ngsa-svc-1.default", "ngsa-svc-2.ngsa", "queue.data", "checkout.shop"];

/// How many HPAs there are.
pub(crate) const HPAS: usize = 5;

const NAMESPACES: [&str; 3] = ["ngsa", "data", "shop"];

/// Creates the objects, without a status: an API server ignores the status of a new object.
pub(crate) fn create(cluster: &ControlPlane) {
    for namespace in NAMESPACES {
        cluster.kubectl(&["create", "namespace", namespace]);
    }
    cluster.apply(&manifest());
}

/// Creates the objects and gives them the status that stands in their file, as controllers would.
pub(crate) fn create_with_status(cluster: &ControlPlane) {
    create(cluster);
    apply_status(cluster, &manifest());
}

/// Gives objects that are there the status that stands beside them.
pub(crate) fn apply_status(cluster: &ControlPlane, manifest: &str) {
    let apply_status = [
        "apply",
        "--server-side",
        "--force-conflicts",
        "--subresource=status",
        "-f",
        "-",
    ];
    cluster.kubectl_with(&apply_status, manifest);
}

/// Moves what an HPA says of its workload.
pub(crate) fn set_current_replicas(cluster: &ControlPlane, namespace: &str, hpa: &str, replicas: u32) {
    let status = json!({"status": {"currentReplicas": replicas, "desiredReplicas": replicas}}).to_string();
    let patch = [
        "patch",
        "hpa",
        hpa,
        "--namespace",
        namespace,
        "--subresource=status",
        "--type=merge",
        "--patch",
    ];
    cluster.kubectl(&[&patch[..], &[&status]].concat());
}

fn manifest() -> String {
    fs::read_to_string(repository().join("crates/burst-lab/src/sample-cluster.yaml")).expect("the sample cluster")
}
