//! One document of a file.

use burst_hpa::node::{Mark, Node};

/// One document of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Counts from 1 in its file.
    pub number: usize,
    /// What it says, or why it cannot be read.
    pub content: Result<Node, SyntaxError>,
}

/// Why a document cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}: {message}", at.line, at.column)]
pub struct SyntaxError {
    /// Where.
    pub at: Mark,
    /// Why.
    pub message: String,
}

pub(super) fn error(at: Mark, message: impl Into<String>) -> SyntaxError {
    SyntaxError {
        at,
        message: message.into(),
    }
}
