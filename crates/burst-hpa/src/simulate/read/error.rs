//! Why an object cannot be simulated.

use thiserror::Error;

use crate::UnknownValue;
use crate::quantity::ParseQuantityError;

/// A field that the controller needs and cannot use.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The API server would have set or required it.
    #[error("{field}: not set; the object must be defaulted and valid")]
    Missing {
        /// The path of the field.
        field: String,
    },
    /// A value that Kubernetes does not know.
    #[error("{field}: {error}")]
    Word {
        /// The path of the field.
        field: String,
        /// The value, and the allowed ones.
        error: UnknownValue,
    },
    /// A time below zero.
    #[error("{field}: {seconds} is not allowed; it must be zero or more seconds")]
    Negative {
        /// The path of the field.
        field: String,
        /// The value.
        seconds: i32,
    },
    /// Not a quantity.
    #[error("{field}: {value:?} is not a quantity")]
    Quantity {
        /// The path of the field.
        field: String,
        /// The value.
        value: String,
        /// The reason.
        #[source]
        error: ParseQuantityError,
    },
}

impl ReadError {
    pub(super) fn missing(field: impl Into<String>) -> Self {
        Self::Missing { field: field.into() }
    }

    pub(super) fn unknown_value(field: impl Into<String>) -> impl FnOnce(UnknownValue) -> Self {
        |error| Self::Word {
            field: field.into(),
            error,
        }
    }
}
