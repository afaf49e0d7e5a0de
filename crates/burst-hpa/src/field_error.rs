//! Errors of single fields, as the API server reports them.

use std::fmt;

use crate::field_path::FieldPath;

/// The `reason` of a cause in the API server's 422 answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorType {
    /// A field that must be set is not.
    Required,
    /// A value that is not allowed.
    Invalid,
    /// A field that may not be set together with other fields.
    Forbidden,
    /// A value outside an enumeration.
    NotSupported,
    /// A value above a length.
    TooLong,
}

impl ErrorType {
    /// As the API server writes it in `details.causes[].reason`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::Forbidden => "FieldValueForbidden",
            Self::NotSupported => "FieldValueNotSupported",
            Self::TooLong => "FieldValueTooLong",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid => "Invalid value",
            Self::Forbidden => "Forbidden",
            Self::NotSupported => "Unsupported value",
            Self::TooLong => "Too long",
        }
    }
}

/// One cause of a refusal. Prints as kubectl shows it:
/// `spec.maxReplicas: Required value: must be set and greater than 0`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldError {
    /// The kind of error.
    pub error_type: ErrorType,
    /// The path of the field, such as `spec.metrics[0].type`.
    pub field: String,
    /// The API server's message; may be empty.
    pub detail: String,
    /// The offending value, where the API server shows it.
    pub bad: Option<String>,
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.error_type.text())?;
        if let Some(bad) = &self.bad {
            write!(f, ": {bad}")?;
        }
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        Ok(())
    }
}

impl std::error::Error for FieldError {}

/// The errors of one object, as they are found.
#[derive(Debug, Default)]
pub(crate) struct Errors(Vec<FieldError>);

impl Errors {
    pub(crate) fn required(&mut self, field: FieldPath<'_>, detail: &str) {
        self.push(ErrorType::Required, field, detail.to_owned(), None);
    }

    pub(crate) fn invalid(&mut self, field: FieldPath<'_>, bad: impl fmt::Debug, detail: impl Into<String>) {
        self.push(ErrorType::Invalid, field, detail.into(), Some(format!("{bad:?}")));
    }

    pub(crate) fn forbidden(&mut self, field: FieldPath<'_>, detail: &str) {
        self.push(ErrorType::Forbidden, field, detail.to_owned(), None);
    }

    /// `allowed` in alphabetical order, as the API server lists it.
    pub(crate) fn not_supported(&mut self, field: FieldPath<'_>, bad: &str, allowed: &[&str]) {
        let quoted: Vec<String> = allowed.iter().map(|value| format!("{value:?}")).collect();
        let detail = format!("supported values: {}", quoted.join(", "));
        self.push(ErrorType::NotSupported, field, detail, Some(format!("{bad:?}")));
    }

    pub(crate) fn too_long(&mut self, field: FieldPath<'_>, most: usize) {
        self.push(
            ErrorType::TooLong,
            field,
            format!("may not be more than {most} bytes"),
            None,
        );
    }

    fn push(&mut self, error_type: ErrorType, field: FieldPath<'_>, detail: String, bad: Option<String>) {
        let error = FieldError {
            error_type,
            field: field.to_string(),
            detail,
            bad,
        };
        // The API server reports some errors twice; one of each is enough.
        if !self.0.contains(&error) {
            self.0.push(error);
        }
    }

    pub(crate) fn into_vec(self) -> Vec<FieldError> {
        self.0
    }
}
