//! Why a text is not a selector, in Go's words: clients show them, and people search for them.

use super::quote::Quote;

/// Why a text is not a selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseSelectorError {
    /// Something else where a requirement should begin.
    #[error("found '{0}', expected: !, identifier, or 'end of string'")]
    Start(String),
    /// Nothing behind a comma.
    #[error("found '{0}', expected: identifier after ','")]
    AfterComma(String),
    /// Something behind a requirement.
    #[error("found '{0}', expected: ',' or 'end of string'")]
    End(String),
    /// A requirement that is none.
    #[error("unable to parse requirement: {0}")]
    Requirement(#[from] ParseRequirementError),
}

/// Why a part of a text is not a requirement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseRequirementError {
    /// No key, or no value.
    #[error("found '{0}', expected: identifier")]
    Identifier(String),
    /// No operator behind a key.
    #[error("found '{0}', expected: in, notin, =, ==, !=, gt, lt")]
    Operator(String),
    /// No list behind `in` or `notin`.
    #[error("found '{0}' expected: '('")]
    List(String),
    /// A list that begins with something else.
    #[error("found '{0}', expected: ',', ')' or identifier")]
    ListStart(String),
    /// Something else behind a value of a list.
    #[error("found '{0}', expected: ',' or ')'")]
    ListEnd(String),
    /// Something else behind a comma of a list.
    #[error("found '{0}', expected: ',', or identifier")]
    ListValue(String),
    /// A key that is no label key.
    #[error("<nil>: {0}")]
    Key(Invalid),
    /// Values that cannot be.
    #[error("{}", aggregate(.0))]
    Values(Vec<(String, Invalid)>),
}

/// A text, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Invalid value: {}: {reason}", Quote(value))]
pub struct Invalid {
    /// The text.
    pub value: String,
    /// What is wrong.
    pub reason: String,
}

/// Several errors as one: each message once.
fn aggregate(errors: &[(String, Invalid)]) -> String {
    let mut messages: Vec<_> = errors
        .iter()
        .map(|(field, invalid)| format!("{field}: {invalid}"))
        .collect();
    let mut seen = std::collections::HashSet::new();
    messages.retain(|message| seen.insert(message.clone()));
    match messages.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}
