//! Errors of the parser. The messages are those of Go's parser, because clients show them and people search for them.

use super::quote::Quote;

/// Why a selector is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseSelectorError {
    /// A requirement begins with another token.
    #[error("found '{0}', expected: !, identifier, or 'end of string'")]
    Start(String),
    /// No requirement follows a comma.
    #[error("found '{0}', expected: identifier after ','")]
    AfterComma(String),
    /// Another token follows a requirement.
    #[error("found '{0}', expected: ',' or 'end of string'")]
    End(String),
    /// A requirement is invalid.
    #[error("unable to parse requirement: {0}")]
    Requirement(#[from] ParseRequirementError),
}

/// Why a requirement is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseRequirementError {
    /// The key or the value is missing.
    #[error("found '{0}', expected: identifier")]
    Identifier(String),
    /// No operator follows the key.
    #[error("found '{0}', expected: in, notin, =, ==, !=, gt, lt")]
    Operator(String),
    /// No list follows `in` or `notin`.
    #[error("found '{0}' expected: '('")]
    List(String),
    /// The list begins with another token.
    #[error("found '{0}', expected: ',', ')' or identifier")]
    ListStart(String),
    /// Another token follows a value of the list.
    #[error("found '{0}', expected: ',' or ')'")]
    ListEnd(String),
    /// Another token follows a comma of the list.
    #[error("found '{0}', expected: ',', or identifier")]
    ListValue(String),
    /// The key is not a valid label key.
    #[error("<nil>: {0}")]
    Key(Invalid),
    /// Some values are invalid.
    #[error("{}", aggregate(.0))]
    Values(Vec<(String, Invalid)>),
}

/// An invalid text, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Invalid value: {}: {reason}", Quote(value))]
pub struct Invalid {
    /// The text.
    pub value: String,
    /// What is wrong.
    pub reason: String,
}

/// Joins errors into one message, without duplicates.
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
