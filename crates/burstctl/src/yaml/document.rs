//! One document of a file.

use burst_hpa::node::{Mark, Node};

/// One document of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The number of the document in its file, counted from 1.
    pub number: usize,
    /// The root node, or why the document cannot be read.
    pub content: Result<Node, SyntaxError>,
}

/// Why a document cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}: {message}", at.line, at.column)]
pub struct SyntaxError {
    /// The position of the error.
    pub at: Mark,
    /// The reason.
    pub message: String,
}

pub(super) fn error(at: Mark, message: impl Into<String>) -> SyntaxError {
    SyntaxError {
        at,
        message: message.into(),
    }
}
