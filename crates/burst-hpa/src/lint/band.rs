//! The lint about the tolerance, within which the controller does not act.

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;

use super::{Findings, Lint, percent, tolerance};
use crate::options::Options;

/// The lint reports a tolerance that can hide at least this many missing pods.
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
        "The controller does nothing while a metric is {} to {} of its target. Of {} pods, {missing:.0} can be missing before it scales up.",
        percent(1.0 - band.down),
        percent(1.0 + band.up),
        spec.max_replicas
    );
    let advice = if options.tolerance {
        "Set behavior.scaleUp.tolerance, for example to 0.05."
    } else {
        "Lower the targets. From Kubernetes 1.35 on, you can set behavior.scaleUp.tolerance."
    };
    findings.add(Lint::DeadBand, "spec.maxReplicas", effect, advice);
}
