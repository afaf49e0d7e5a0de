//! The lint about rollouts. The controller also counts the extra pods of a rollout.

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::scan::source;
use super::{Findings, Lint};
use crate::metric::SourceType;
use crate::spec::spec;
use crate::workload::Workload;

/// The lint reports a rollout that adds at least this percentage of the replicas.
const REPORTED_PERCENT: i64 = 50;

pub(super) fn lint(hpa: &HorizontalPodAutoscaler, target: &Workload, findings: &mut Findings) {
    let per_pod = |kind| {
        matches!(
            kind,
            SourceType::Resource | SourceType::ContainerResource | SourceType::Pods
        )
    };
    let mut metrics = spec(hpa).metrics.iter().flatten().filter_map(source);
    let max = i64::from(spec(hpa).max_replicas);
    let Some(surge) = target.max_surge.as_ref() else { return };
    let extra = pods(surge, max);
    if extra * 100 < max * REPORTED_PERCENT || !metrics.any(|source| per_pod(source.kind)) {
        return;
    }
    let effect = format!(
        "A rollout adds up to {extra} pods to {max} replicas (maxSurge {}), and the controller counts all of them. If they \
         are busy, the HPA requests up to {} % more replicas than the load needs.",
        written(surge),
        extra * 100 / max,
    );
    let advice = "Lower maxSurge, so that a rollout adds fewer pods at a time.";
    findings.add(Lint::RolloutSurge, "spec.scaleTargetRef", effect, advice);
}

/// Returns the extra pods of a rollout. A percentage is rounded up.
fn pods(surge: &IntOrString, replicas: i64) -> i64 {
    match surge {
        IntOrString::Int(pods) => i64::from(*pods),
        IntOrString::String(text) => text
            .strip_suffix('%')
            .and_then(|percent| percent.parse::<i32>().ok())
            .map_or(0, |percent| (replicas * i64::from(percent) + 99) / 100),
    }
}

fn written(surge: &IntOrString) -> String {
    match surge {
        IntOrString::Int(pods) => pods.to_string(),
        IntOrString::String(text) => text.clone(),
    }
}
