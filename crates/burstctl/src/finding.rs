//! A finding of `hpa lint` with its position.

use burst_hpa::decode::{API_VERSION, KIND};
use burst_hpa::{DecodeError, ErrorType, FieldError, Severity};

use crate::input::InvalidDocument;
use crate::objects::Object;
use crate::older_field;
use burst_hpa::node::Span;

/// A problem in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The index of its source.
    pub source: usize,
    /// The number of the document, from 1.
    pub document: usize,
    /// The text to point at.
    pub span: Span,
    /// `namespace/name`; empty for a document that is not an object.
    pub object: String,
    /// The path of the field; empty for the whole object.
    pub field: String,
    /// The kind of the problem.
    pub kind: FindingKind,
    /// The reason.
    pub detail: String,
    /// How to fix it, if that is not obvious.
    pub advice: Option<String>,
    /// The severity.
    pub severity: Severity,
}

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingKind {
    /// The document is not YAML.
    Syntax,
    /// The apiserver cannot read it (400).
    Decode,
    /// The apiserver refuses it (422).
    Invalid(ErrorType),
    /// The API server accepts it, but a lint does not.
    Lint(burst_hpa::Lint),
    /// The short form is invalid.
    Short,
    /// The values of `istio render` are invalid.
    Values,
    /// A related object that does not match its kind, so lints cannot use it.
    RelatedObject,
}

impl FindingKind {
    /// `apiserver`, or the name of the rule.
    #[must_use]
    pub fn rule(self) -> &'static str {
        match self {
            Self::Syntax => "yaml",
            Self::Decode | Self::Invalid(_) => "apiserver",
            Self::Lint(lint) => lint.id(),
            Self::Short => "short-form",
            Self::Values => "values",
            Self::RelatedObject => "neighbour",
        }
    }

    /// `Decode`, the `reason` of a cause in the apiserver's answer, or `Lint`.
    #[must_use]
    pub fn type_(self) -> &'static str {
        match self {
            Self::Syntax | Self::Decode | Self::Short | Self::Values => "Decode",
            Self::Invalid(error_type) => error_type.as_str(),
            Self::Lint(_) | Self::RelatedObject => "Lint",
        }
    }
}

impl Finding {
    pub(super) fn syntax_error(broken: &InvalidDocument) -> Self {
        Self {
            source: broken.source,
            document: broken.document,
            span: Span {
                start: broken.error.at,
                end: broken.error.at,
            },
            object: String::new(),
            field: String::new(),
            kind: FindingKind::Syntax,
            detail: broken.error.message.clone(),
            advice: None,
            severity: Severity::Error,
        }
    }

    /// A field that cannot be read.
    pub(crate) fn at(object: &Object, field: &str, detail: String) -> Self {
        Self::new(object, field, FindingKind::Decode, detail)
    }

    fn new(object: &Object, field: &str, kind: FindingKind, detail: String) -> Self {
        Self {
            source: object.source,
            document: object.document,
            span: object.tree.value_span(field),
            object: object.title(),
            field: field.to_owned(),
            kind,
            detail,
            advice: None,
            severity: Severity::Error,
        }
    }

    pub(super) fn undecodable(object: &Object, detail: impl Into<String>) -> Self {
        Self::new(object, "", FindingKind::Decode, detail.into())
    }

    /// An HPA of a version that no cluster serves. Its fields are not checked.
    pub(super) fn unsupported_version(object: &Object) -> Self {
        let (found, older) = (object.api_version(), ["autoscaling/v2beta1", "autoscaling/v2beta2"]);
        let advice = "`burstctl hpa migrate` writes it as autoscaling/v2.".to_owned();
        Self {
            advice: older.contains(&found).then_some(advice),
            ..Self::at(
                object,
                "apiVersion",
                format!("expected {API_VERSION:?}, found {found:?}"),
            )
        }
    }

    /// An object that was probably meant to be an HPA: another kind in the group `autoscaling`, or the kind in another group
    /// of Kubernetes.
    pub(super) fn misnamed_hpa(object: &Object) -> Option<Self> {
        let kind = object.kind();
        if object.group() == "autoscaling" && kind != KIND {
            let detail = format!("expected {KIND:?}, found {kind:?}");
            return Some(Self::at(object, "kind", detail));
        }
        (kind == KIND && !object.group().contains('.')).then(|| Self::unsupported_version(object))
    }

    /// Lists are expanded before this, so an object that is still a list has no items.
    pub(super) fn invalid_list(object: &Object) -> Option<Self> {
        let is_list =
            object.kind() == "List" || object.tree.field("items").is_some() && object.kind().ends_with("List");
        is_list.then(|| Self::at(object, "items", "expected a list of objects".to_owned()))
    }

    pub(super) fn decode(object: &Object, error: &DecodeError) -> Self {
        let message = error.to_string();
        let detail = message
            .strip_prefix(error.path())
            .and_then(|rest| rest.strip_prefix(": "));
        let finding = Self::new(
            object,
            error.path(),
            FindingKind::Decode,
            detail.unwrap_or(&message).to_owned(),
        );
        // Point at the key if the key is wrong, not its value.
        let span = if error.only_strict() {
            object.tree.key_span(error.path())
        } else {
            finding.span
        };
        let advice = match error {
            DecodeError::UnknownField {
                nearest: Some(name), ..
            } => Some(format!("Did you mean {name}?")),
            DecodeError::UnknownField { .. } => older_field::advice(object, error.path()),
            _ => None,
        };
        Self {
            span,
            advice,
            ..finding
        }
    }

    pub(super) fn invalid(object: &Object, error: &FieldError) -> Self {
        Self::new(
            object,
            &error.field,
            FindingKind::Invalid(error.error_type),
            error.detail.clone(),
        )
    }

    pub(super) fn lint(object: &Object, finding: burst_hpa::Finding) -> Self {
        Self {
            severity: finding.severity,
            advice: Some(finding.advice),
            ..Self::new(object, &finding.field, FindingKind::Lint(finding.lint), finding.effect)
        }
    }

    pub(super) fn related_object(object: &Object, reason: &serde_json::Error) -> Self {
        let detail = format!(
            "This {} does not match its kind ({reason}), so no rule can check it.",
            object.kind()
        );
        Self {
            severity: Severity::Warning,
            ..Self::new(object, "", FindingKind::RelatedObject, detail)
        }
    }
}
