//! Lints about the tolerance, within which the controller does not act.

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;

use super::{Findings, Lint, percent, tolerance};
use crate::options::Options;

/// From this number of missing pods within the tolerance on, the lint reports them.
const REPORTED_MISSING_PODS: f64 = 10.0;

pub(super) fn lint(hpa: &HorizontalPodAutoscaler, options: Options, findings: &mut Findings) {
    let spec = crate::spec::spec(hpa);
    let up = spec.behavior.as_ref().and_then(|behavior| behavior.scale_up.as_ref());
    if up.is_some_and(|rules| rules.tolerance.is_some()) {
        return;
    }
    let band = tolerance(hpa);
    let missing = f64::from(spec.max_replicas) * band.up;
    if missing < REPORTED_MISSING_PODS {
        return;
    }
    let effect = format!(
        "While a metric is {} to {} of its target nothing happens, so of {} pods {missing:.0} may be missing.",
        percent(1.0 - band.down),
        percent(1.0 + band.up),
        spec.max_replicas
    );
    let advice = if options.tolerance {
        "Set behavior.scaleUp.tolerance, such as 0.05."
    } else {
        "Lower the targets; from Kubernetes 1.35 on there is behavior.scaleUp.tolerance."
    };
    findings.add(Lint::DeadBand, "spec.maxReplicas", effect, advice);
}
