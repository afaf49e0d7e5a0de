//! The sample cluster: the two Services of seed 000, a StatefulSet, and a Service with two workloads.

use std::fs;

use burst_testkit::{ControlPlane, repository};
use serde_json::json;

/// The Services, by the names of their Envoy clusters in a [`crate::gateway::Gateway`].
pub(crate) const SERVICES: [&str; 4] = ["ngsa-svc-1.default", "ngsa-svc-2.ngsa", "queue.data", "checkout.shop"];

/// The Service of `default/ngsa-hpa-1`, whose replicas [`scale`] sets.
pub(crate) const SCALED: &str = SERVICES[0];

/// The number of HPAs.
pub(crate) const HPAS: usize = 5;

const NAMESPACES: [&str; 3] = ["ngsa", "data", "shop"];

/// Creates the objects without a status: an API server ignores the status of a new object.
pub(crate) fn create(cluster: &ControlPlane) {
    for namespace in NAMESPACES {
        cluster.kubectl(&["create", "namespace", namespace]);
    }
    cluster.apply(&manifest());
}

/// Creates the objects with the status in their file, as controllers would.
pub(crate) fn create_with_status(cluster: &ControlPlane) {
    create(cluster);
    apply_status(cluster, &manifest());
}

/// Sets the status of existing objects to the one in the manifest.
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

/// Sets the current replicas of an HPA.
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

/// Sets the current replicas behind [`SCALED`].
pub(crate) fn scale(cluster: &ControlPlane, replicas: u32) {
    set_current_replicas(cluster, "default", "ngsa-hpa-1", replicas);
}

/// The header of [`SCALED`] at this number of replicas.
pub(crate) fn header(replicas: u32) -> String {
    format!("service=default/ngsa-1, current-load={replicas}, target-load=4, max-load=5")
}

fn manifest() -> String {
    fs::read_to_string(repository().join("crates/burst-lab/src/sample-cluster.yaml")).expect("the sample cluster")
}
