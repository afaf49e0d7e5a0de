//! A document as a form that people write: every key is known, none stands there twice, and what is wrong has a place.

use serde::de::DeserializeOwned;

use burst_hpa::node::{Node, NodeValue, Span};

/// Why a document is not of its form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misread {
    /// The path of the field; empty for the whole document.
    pub(crate) field: String,
    /// What to point at.
    pub(crate) span: Span,
    /// What is wrong.
    pub(crate) detail: String,
}

/// Reads a form.
pub(crate) fn read<T: DeserializeOwned>(tree: &Node) -> Result<T, Misread> {
    if let Some(twice) = tree.duplicate() {
        return Err(Misread {
            field: twice.name.clone(),
            span: twice.span(),
            detail: format!("{:?} is written twice", twice.name),
        });
    }
    // Serde would read a list as the fields in the order of our sources, and speak of a struct.
    if !matches!(tree.value, NodeValue::Object(_)) {
        return Err(Misread {
            field: String::new(),
            span: tree.place(""),
            detail: "expected an object: keys, each with its value".to_owned(),
        });
    }
    serde_path_to_error::deserialize(tree.to_json()).map_err(|error| {
        let field = path(&error);
        let detail = error.inner().to_string();
        let span = place(tree, &field, &detail);
        Misread { field, span, detail }
    })
}

/// Where that is wrong.
pub(crate) fn place(tree: &Node, field: &str, detail: &str) -> Span {
    // The key itself is the trouble, not what it says.
    if detail.starts_with("unknown field") {
        tree.place_of_key(field)
    } else {
        tree.place(field)
    }
}

/// As the apiserver writes paths; a key that could not be read at all ends in a question mark.
fn path<E>(error: &serde_path_to_error::Error<E>) -> String {
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
    struct Form {
        _size: Option<u32>,
    }

    fn misread(text: &str) -> (String, usize, usize) {
        let tree = documents(text).remove(0).content.unwrap();
        let Misread { field, span, .. } = read::<Form>(&tree).unwrap_err();
        (field, span.start.line, span.start.column)
    }

    #[test]
    fn what_is_wrong_has_its_place() {
        assert_eq!(misread("_size: many\n"), ("_size".to_owned(), 1, 8));
        assert_eq!(misread("_size: 1\nsise: 2\n"), ("sise".to_owned(), 2, 1));
        assert_eq!(misread("_size: 1\n_size: 2\n"), ("_size".to_owned(), 2, 1));
        for text in ["- 1\n", "many\n", "1\n"] {
            assert_eq!(misread(text), (String::new(), 1, 1), "{text}");
        }
    }
}
