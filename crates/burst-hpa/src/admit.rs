//! The steps of a create request in kube-apiserver's order: decode, default, validate.

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;

use crate::decode::{DecodeError, decode};
use crate::defaults::defaulted;
use crate::field_error::FieldError;
use crate::node::Node;
use crate::options::Options;
use crate::validate::validate;

/// Why kube-apiserver would refuse a document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It cannot be read as an HPA (status 400).
    #[error("{}", lines(.0))]
    Decode(Vec<DecodeError>),
    /// It can be read and is not valid (status 422).
    #[error("{}", lines(.0))]
    Invalid(Vec<FieldError>),
}

fn lines(errors: &[impl ToString]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Returns what kube-apiserver stores when this document is created.
///
/// ```
/// use burst_hpa::{Node, Options, admit};
///
/// let node = Node::from_json(r#"{
///     "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
///     "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}
/// }"#)?;
/// let refusal = admit(&node, Options::default()).unwrap_err();
/// assert!(refusal.to_string().starts_with("spec.maxReplicas: Required value: must be set and greater than 0"));
/// # Ok::<_, burst_hpa::node::JsonError>(())
/// ```
///
/// # Errors
/// All causes that the API server would name.
pub fn admit(document: &Node, options: Options) -> Result<HorizontalPodAutoscaler, Refusal> {
    let hpa = defaulted(decode(document).map_err(Refusal::Decode)?, options);
    match validate(&hpa, options) {
        errors if errors.is_empty() => Ok(hpa),
        errors => Err(Refusal::Invalid(errors)),
    }
}
