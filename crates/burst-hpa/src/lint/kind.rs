//! The lint about targets of a kind that their API group does not have.

use k8s_openapi::api::autoscaling::v2::CrossVersionObjectReference;

use super::{Findings, Lint};
use crate::nearest::nearest;
use crate::workload::group;

/// A built-in kind with a scale subresource.
struct Scalable {
    kind: &'static str,
    api_version: &'static str,
    /// The short name in kubectl.
    short: &'static str,
}

const SCALABLE: [Scalable; 4] = [
    Scalable {
        kind: "Deployment",
        api_version: "apps/v1",
        short: "deploy",
    },
    Scalable {
        kind: "StatefulSet",
        api_version: "apps/v1",
        short: "sts",
    },
    Scalable {
        kind: "ReplicaSet",
        api_version: "apps/v1",
        short: "rs",
    },
    Scalable {
        kind: "ReplicationController",
        api_version: "v1",
        short: "rc",
    },
];

/// Checks targets in the groups `apps` and the core group, whose kinds are known.
pub(super) fn lint(target: &CrossVersionObjectReference, findings: &mut Findings) {
    let api_version = target.api_version.as_deref().unwrap_or_default();
    let own_group = group(api_version);
    if !matches!(own_group, "" | "apps") {
        return;
    }
    let Some(meant) = meant_by(&target.kind) else { return };
    let group_name = if own_group.is_empty() { "core" } else { own_group };
    let effect = format!(
        "The {group_name} API group has no kind {:?}, so the controller can never find the target (FailedGetScale).",
        target.kind
    );
    if meant.kind != target.kind {
        let advice = format!(
            "Set the kind to {}, and the apiVersion to {}.",
            meant.kind, meant.api_version
        );
        findings.add(Lint::UnknownKind, "spec.scaleTargetRef.kind", effect, advice);
    } else if group(meant.api_version) != own_group {
        let advice = format!("Set the apiVersion to {}.", meant.api_version);
        // The field may be absent.
        findings.add(Lint::UnknownKind, "spec.scaleTargetRef", effect, advice);
    }
}

/// Returns the kind that a name stands for, or was probably meant to be.
fn meant_by(kind: &str) -> Option<&'static Scalable> {
    let lower = kind.to_lowercase();
    let singular = lower.strip_suffix('s').unwrap_or(&lower);
    let stands_for = |known: &&Scalable| lower == known.short || singular == known.kind.to_lowercase();
    SCALABLE.iter().find(stands_for).or_else(|| {
        let near = nearest(kind, SCALABLE.iter().map(|known| known.kind))?;
        SCALABLE.iter().find(|known| known.kind == near)
    })
}
