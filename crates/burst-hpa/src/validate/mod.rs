//! The checks of kube-apiserver when an HPA is created, as in
//! <https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/autoscaling/validation/validation.go>.
//!
//! The messages are exactly those of Kubernetes, because people search for them.

mod annotations;
mod behavior;
mod metadata;
mod metric;
mod older;
mod owner;
mod reference;
mod resource_name;
mod target;

pub(crate) use burst_labels::content;
use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec};

use crate::field_error::{Errors, FieldError};
use crate::field_path::FieldPath;
use crate::options::Options;

/// Returns why kube-apiserver would refuse to create this object; nothing if it would accept it.
///
/// It must have been [`defaulted`](crate::defaulted()) first, as the API server does. A missing namespace is no error: the
/// request supplies it.
#[must_use]
pub fn validate(hpa: &HorizontalPodAutoscaler, options: Options) -> Vec<FieldError> {
    let mut errors = Errors::default();
    metadata::validate(&hpa.metadata, &FieldPath::ROOT.field("metadata"), &mut errors);
    spec(
        crate::spec::spec(hpa),
        &FieldPath::ROOT.field("spec"),
        options,
        &mut errors,
    );
    let mut field_errors = errors.into_vec();
    field_errors.iter_mut().for_each(|error| older::reword(error, options));
    field_errors
}

fn spec(spec: &HorizontalPodAutoscalerSpec, path: &FieldPath<'_>, options: Options, errors: &mut Errors) {
    replicas(spec, path, options, errors);
    reference::scale_target(&spec.scale_target_ref, &path.field("scaleTargetRef"), options, errors);
    metric::metrics(spec, &path.field("metrics"), options, errors);
    if let Some(behavior) = &spec.behavior {
        behavior::behavior(behavior, &path.field("behavior"), errors);
    }
}

fn replicas(spec: &HorizontalPodAutoscalerSpec, path: &FieldPath<'_>, options: Options, errors: &mut Errors) {
    let min = spec.min_replicas;
    let max = spec.max_replicas;
    let least = i32::from(!options.scale_to_zero);
    if let Some(min) = min.filter(|min| *min < least) {
        errors.invalid(
            path.field("minReplicas"),
            min,
            format!("must be greater than or equal to {least}"),
        );
    }
    let path = path.field("maxReplicas");
    if max < 1 && !options.requires_max_replicas() {
        errors.invalid(path, max, "must be greater than 0");
    } else if max == 0 {
        errors.required(path, "must be set and greater than 0");
    } else if max < 0 {
        errors.invalid(path, max, "must be greater than or equal to 1");
    }
    if min.is_some_and(|min| max < min) {
        errors.invalid(path, max, "must be greater than or equal to `minReplicas`");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::defaulted;

    /// `type field` of each error in an HPA with `maxReplicas: 0` and a target without a group.
    fn errors(minor: u32) -> Vec<String> {
        let options = Options::kubernetes_1(minor);
        let json = serde_json::json!({"metadata": {"name": "web"}, "spec": {
            "minReplicas": 0, "maxReplicas": 0, "scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "v1"},
        }});
        let hpa = defaulted(serde_json::from_value(json).unwrap(), options);
        let errors = validate(
            &hpa,
            Options {
                scale_to_zero: true,
                ..options
            },
        );
        errors
            .into_iter()
            .map(|error| format!("{} {}", error.error_type.as_str(), error.field))
            .collect()
    }

    #[test]
    fn options_differ_between_kubernetes_versions() {
        let metrics = "FieldValueForbidden spec.metrics";
        let target = "FieldValueInvalid spec.scaleTargetRef.apiVersion";
        assert_eq!(errors(33), ["FieldValueInvalid spec.maxReplicas", metrics]);
        assert_eq!(errors(34), ["FieldValueInvalid spec.maxReplicas", target, metrics]);
        assert_eq!(errors(36), ["FieldValueRequired spec.maxReplicas", target, metrics]);
    }
}
