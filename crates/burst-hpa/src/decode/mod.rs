//! Converts a node to an HPA as strictly as kube-apiserver under `fieldValidation=Strict`: unknown and duplicate fields,
//! wrong types and malformed quantities are refused. It returns all errors, each with its path.

mod read;
mod schema;
mod time;

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;

use crate::field_path::FieldPath;
use crate::node::Node;
use crate::quantity::ParseQuantityError;

/// The version this crate decodes.
pub const API_VERSION: &str = "autoscaling/v2";

/// The kind this crate decodes.
pub const KIND: &str = "HorizontalPodAutoscaler";

/// An error that the API server answers with status 400.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// `autoscaling/v2` has no such field.
    #[error("unknown field {path:?}")]
    UnknownField {
        /// Of the field itself.
        path: String,
        /// The field that was probably meant.
        nearest: Option<&'static str>,
    },
    /// The same field is written twice.
    #[error("duplicate field {path:?}")]
    DuplicateField {
        /// Of the field itself.
        path: String,
    },
    /// Another type than the field's.
    #[error("{path}: expected {expected}, found {found}")]
    WrongType {
        /// Empty for the document itself.
        path: String,
        /// "a string", "a list", …
        expected: &'static str,
        /// The value instead.
        found: String,
    },
    /// Not a quantity.
    #[error("{path}: {found:?}: {reason}")]
    Quantity {
        /// Of the field.
        path: String,
        /// The value instead.
        found: String,
        /// Go's message.
        reason: ParseQuantityError,
    },
    /// Another kind of object, or another version of it.
    #[error("{path}: expected {expected:?}, found {found:?}")]
    OtherKind {
        /// `apiVersion` or `kind`.
        path: String,
        /// The value that this crate decodes.
        expected: &'static str,
        /// The value instead; empty if there is none.
        found: String,
    },
}

impl DecodeError {
    /// The path of the field, such as `spec.metrics[0].type`; empty for the document itself.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::UnknownField { path, .. }
            | Self::DuplicateField { path }
            | Self::WrongType { path, .. }
            | Self::Quantity { path, .. }
            | Self::OtherKind { path, .. } => path,
        }
    }

    /// Returns whether the API server refuses it only under `fieldValidation=Strict`, kubectl's default; otherwise it would
    /// take the object and drop the field.
    #[must_use]
    pub fn only_strict(&self) -> bool {
        matches!(self, Self::UnknownField { .. } | Self::DuplicateField { .. })
    }
}

/// Reads an `autoscaling/v2` HorizontalPodAutoscaler; its quantities come out canonical.
///
/// # Errors
/// All errors of the document.
pub fn decode(document: &Node) -> Result<HorizontalPodAutoscaler, Vec<DecodeError>> {
    let mut errors = Vec::new();
    let value = read::read(document, &schema::HPA, &FieldPath::ROOT, &mut errors);
    errors.extend(other_kind(document, "apiVersion", API_VERSION));
    errors.extend(other_kind(document, "kind", KIND));
    if !errors.is_empty() {
        return Err(errors);
    }
    serde_json::from_value(value).map_err(|e| {
        vec![DecodeError::WrongType {
            path: String::new(),
            expected: API_VERSION,
            found: e.to_string(),
        }]
    })
}

/// For a body without `kind`, the API server uses the URL. A reader of files has to check the kind before
/// anyway, to find the HPAs.
fn other_kind(document: &Node, path: &str, expected: &'static str) -> Option<DecodeError> {
    let found = document
        .field(path)
        .and_then(Node::as_str)
        .filter(|found| !found.is_empty())?;
    (found != expected).then(|| DecodeError::OtherKind {
        path: path.to_owned(),
        expected,
        found: found.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(spec: &str) -> Vec<String> {
        let text = format!(r#"{{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","spec":{spec}}}"#);
        let errors = decode(&Node::from_json(&text).unwrap()).unwrap_err();
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_mistake_is_named_with_its_path() {
        let spec = r#"{"maxReplicas":"3","minReplicas":1.0,"replicas":2,"replicas":3,"scaleTargetRef":[],
            "metrics":[null,{"resource":{"target":{"averageValue":"1K"}}}],"behavior":{"scaleUp":{"policies":{}}}}"#;
        assert_eq!(
            errors(spec),
            [
                "spec.maxReplicas: expected a 32-bit integer, found a string",
                "spec.minReplicas: expected a 32-bit integer, found 1.0",
                r#"unknown field "spec.replicas""#,
                r#"duplicate field "spec.replicas""#,
                "spec.scaleTargetRef: expected an object, found a list",
                r#"spec.metrics[1].resource.target.averageValue: "1K": unable to parse quantity's suffix"#,
                "spec.behavior.scaleUp.policies: expected a list, found an object",
            ]
        );
    }

    #[test]
    fn a_quantity_may_have_spaces_around_it_but_no_line_breaks() {
        let tolerance = |text: &str| format!(r#"{{"behavior":{{"scaleUp":{{"tolerance":"{text}"}}}}}}"#);
        let path = "spec.behavior.scaleUp.tolerance";
        for text in ["1\\n", "\\t1", "1\\r"] {
            let refused = errors(&tolerance(text));
            assert!(refused[0].starts_with(path), "{refused:?}");
        }
        let text = format!(r#"{{"spec":{}}}"#, tolerance(" 1\u{a0}"));
        assert!(decode(&Node::from_json(&text).unwrap()).is_ok());
    }

    #[test]
    fn a_null_field_counts_as_absent() {
        let text = r#"{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":null,
            "spec":{"minReplicas":null,"metrics":[null],"behavior":{"scaleUp":{"policies":null},"scaleDown":{"policies":[]}}}}"#;
        let spec = decode(&Node::from_json(text).unwrap()).unwrap().spec;
        assert_eq!(spec.min_replicas, None);
        assert_eq!(spec.metrics.unwrap().first().unwrap().type_, "");
        let behavior = spec.behavior.unwrap();
        assert_eq!(behavior.scale_up.unwrap().policies, None);
        assert_eq!(behavior.scale_down.unwrap().policies, Some(vec![]));
    }

    #[test]
    fn another_version_is_refused_by_name() {
        let text = r#"{"apiVersion":"autoscaling/v2beta2","kind":"HorizontalPodAutoscaler"}"#;
        let errors = decode(&Node::from_json(text).unwrap()).unwrap_err();
        assert_eq!(
            errors.first().unwrap().to_string(),
            r#"apiVersion: expected "autoscaling/v2", found "autoscaling/v2beta2""#
        );
    }
}
