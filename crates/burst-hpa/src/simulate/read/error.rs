//! Why an object cannot be simulated.

use std::fmt;

use thiserror::Error;

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
    /// The API server would have refused it.
    #[error("{field}: {value:?} is not allowed; it must be {allowed}")]
    NotAllowed {
        /// The path of the field.
        field: String,
        /// What is there.
        value: String,
        /// What may be.
        allowed: &'static str,
    },
    /// Not a quantity.
    #[error("{field}: {value:?} is not a quantity")]
    Quantity {
        /// The path of the field.
        field: String,
        /// What is there.
        value: String,
        /// What is wrong with it.
        #[source]
        error: ParseQuantityError,
    },
}

impl ReadError {
    pub(super) fn missing(field: impl Into<String>) -> Self {
        Self::Missing { field: field.into() }
    }

    pub(super) fn not_allowed(field: String, value: &dyn fmt::Display, allowed: &'static str) -> Self {
        Self::NotAllowed {
            field,
            value: value.to_string(),
            allowed,
        }
    }
}
