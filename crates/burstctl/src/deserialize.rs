//! A document as a form that people write: every key is known, none stands there twice, and what is wrong has a place.

use serde::de::DeserializeOwned;

use crate::yaml::{Span, Tree, Value};

/// Why a document is not of its form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeserializeError {
    /// The path of the field; empty for the whole document.
    pub(crate) field: String,
    /// What to point at.
    pub(crate) span: Span,
    /// What is wrong.
    pub(crate) detail: String,
}

/// Reads a form.
pub(crate) fn deserialize<T: DeserializeOwned>(tree: &Tree) -> Result<T, DeserializeError> {
    if let Some(duplicate) = tree.duplicate() {
        return Err(DeserializeError {
            field: duplicate.name.clone(),
            span: duplicate.span,
            detail: format!("{:?} is written twice", duplicate.name),
        });
    }
    // Serde would read a list as the fields in the order of our sources, and speak of a struct.
    if !matches!(tree.value, Value::Object(_)) {
        return Err(DeserializeError {
            field: String::new(),
            span: tree.place(""),
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

/// Where that is wrong.
pub(crate) fn span_of(tree: &Tree, field: &str, detail: &str) -> Span {
    // The key itself is the trouble, not what it says.
    if detail.starts_with("unknown field") {
        tree.place_of_key(field)
    } else {
        tree.place(field)
    }
}

/// As the apiserver writes paths; a key that could not be read at all ends in a question mark.
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
    fn what_is_wrong_has_its_place() {
        assert_eq!(error("_size: many\n"), ("_size".to_owned(), 1, 8));
        assert_eq!(error("_size: 1\nsise: 2\n"), ("sise".to_owned(), 2, 1));
        assert_eq!(error("_size: 1\n_size: 2\n"), ("_size".to_owned(), 2, 1));
        for text in ["- 1\n", "many\n", "1\n"] {
            assert_eq!(error(text), (String::new(), 1, 1), "{text}");
        }
    }
}
