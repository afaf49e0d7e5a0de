//! Why something is refused, and where.

use serde::de::{self, Expected, Unexpected};
use std::fmt;

/// What is wrong, and the path of the value it is wrong with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    path: String,
    reason: String,
}

impl Refusal {
    pub(crate) fn new(reason: String) -> Self {
        let path = String::new();
        Self { path, reason }
    }

    /// Such as `clusters[0].name`; empty where it is all of what is written.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What is wrong, in the words of serde.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The same, of what stands below that key.
    pub(crate) fn below(mut self, key: &str) -> Self {
        if !self.path.is_empty() && !self.path.starts_with('[') {
            self.path.insert(0, '.');
        }
        self.path.insert_str(0, key);
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            f.write_str(&self.path)?;
            f.write_str(": ")?;
        }
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Refusal {}

impl de::Error for Refusal {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self::new(reason.to_string())
    }

    // In the words of serde_json, which are the same: its own way to write a number with a fraction is in the module
    // anyway, and that of the standard library, which serde would take, is 16 KB more.
    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(serde_json::Error::invalid_type(found, expected))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(serde_json::Error::invalid_value(found, expected))
    }
}
