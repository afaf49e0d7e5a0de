//! Reads HPAs of any API version and in the short form.

use burst_hpa::{Options, decode, migrate};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;

use crate::finding::Finding;
use crate::objects::Object;
use crate::short_form::{self, ScaleTargets, build, is_short};

/// Returns whether an object is an HPA or a short form.
pub(crate) fn is_hpa(object: &Object) -> bool {
    object.is_hpa() || is_short(object)
}

/// `namespace/name` of the HPA.
pub(crate) fn title(object: &Object) -> String {
    if is_short(object) {
        short_form::title(object)
    } else {
        object.title()
    }
}

/// Returns the HPA as `autoscaling/v2` without defaults, or all errors.
pub(crate) fn read(
    object: &Object,
    targets: &ScaleTargets<'_>,
    options: Options,
) -> Result<HorizontalPodAutoscaler, Vec<String>> {
    if is_short(object) {
        let reason = |finding: &Finding| match finding.field.as_str() {
            "" => finding.detail.clone(),
            field => format!("{field}: {}", finding.detail),
        };
        return build(object, targets, options).map_err(|findings| findings.iter().map(reason).collect());
    }
    let migration = migrate(&object.tree).map_err(|error| vec![error.to_string()])?;
    decode(&migration.document).map_err(|errors| errors.iter().map(ToString::to_string).collect())
}
