//! Why something is refused, and where.

use serde::de;
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
}
