//! Deserializes a document strictly: unknown and duplicate keys are errors, and each error has a position.

use serde::de::DeserializeOwned;

use burst_hpa::node::{Node, NodeValue, Span};

/// Why a document is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeserializeError {
    /// The path of the field; empty for the whole document.
    pub(crate) field: String,
    /// The text to point at.
    pub(crate) span: Span,
    /// The reason.
    pub(crate) detail: String,
}

/// Deserializes a document.
pub(crate) fn deserialize<T: DeserializeOwned>(tree: &Node) -> Result<T, DeserializeError> {
    if let Some(duplicate) = tree.duplicate() {
        return Err(DeserializeError {
            field: duplicate.name.clone(),
            span: duplicate.span(),
            detail: format!("{:?} is written twice", duplicate.name),
        });
    }
    // Serde would read a list as the fields in order, and its error would mention a struct.
    if !matches!(tree.value, NodeValue::Object(_)) {
        return Err(DeserializeError {
            field: String::new(),
            span: tree.value_span(""),
            detail: "expected an object: keys, each with its value".to_owned(),
        });
    }
    serde_path_to_error::deserialize(tree.to_json()).map_err(|error| {
        let field = field_path(&error);
        let detail = error.inner().to_string();
        let span = span_of(tree, &field, &detail);
        DeserializeError { field, span, detail }
    })
}

/// Returns the span of an error.
pub(crate) fn span_of(tree: &Node, field: &str, detail: &str) -> Span {
    // Point at the key if the key is wrong, not its value.
    if detail.starts_with("unknown field") {
        tree.key_span(field)
    } else {
        tree.value_span(field)
    }
}

/// The path as the API server writes it; serde ends it in a question mark if a key could not be read.
fn field_path<E>(error: &serde_path_to_error::Error<E>) -> String {
    let path = error.path().to_string();
    match path.as_str() {
        "." => String::new(),
        path => path.trim_end_matches('?').trim_end_matches('.').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::yaml::documents;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Example {
        _size: Option<u32>,
    }

    fn error(text: &str) -> (String, usize, usize) {
        let tree = documents(text).remove(0).content.unwrap();
        let DeserializeError { field, span, .. } = deserialize::<Example>(&tree).unwrap_err();
        (field, span.start.line, span.start.column)
    }

    #[test]
    fn errors_have_positions() {
        assert_eq!(error("_size: many\n"), ("_size".to_owned(), 1, 8));
        assert_eq!(error("_size: 1\nsise: 2\n"), ("sise".to_owned(), 2, 1));
        assert_eq!(error("_size: 1\n_size: 2\n"), ("_size".to_owned(), 2, 1));
        for text in ["- 1\n", "many\n", "1\n"] {
            assert_eq!(error(text), (String::new(), 1, 1), "{text}");
        }
    }
}
