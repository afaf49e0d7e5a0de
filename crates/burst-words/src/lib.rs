//! What people wrote as JSON, a configuration or a policy, read into types of [`serde`] so that a refusal names the key.
//!
//! `serde_path_to_error` does so too, for every format: it wraps each visitor of each type in code of its own, which was
//! an eighth of the Wasm module. Here the text becomes a tree first, and the path is put together while an error goes
//! back up.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::unreachable
    )
)]

mod error;
mod reader;
mod tree;

pub use error::Refusal;

use serde::de::DeserializeOwned;
use tree::Tree;

/// Reads a `T` from JSON. It may be made of structs, lists, maps, options, numbers, texts, and enums whose variants are
/// words; what asks for "any" type, as `#[serde(flatten)]` and `untagged` do, is refused whatever is written.
///
/// # Errors
/// The text is not JSON, or the first thing that a `T` cannot have, with its path.
pub fn read<T: DeserializeOwned>(json: &[u8]) -> Result<T, Refusal> {
    T::deserialize(Tree::parse(json)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize;
    use std::collections::BTreeMap;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Form {
        name: Option<String>,
        size: u8,
        offset: i64,
        share: f64,
        on: bool,
        color: Option<Color>,
        parts: Vec<Part>,
        labels: BTreeMap<String, String>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Part {
        of: String,
        sizes: Option<Vec<u8>>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Color {
        Red,
        Green,
    }

    fn form(json: &str) -> Result<Form, String> {
        read(json.as_bytes()).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn everything_that_is_written_is_read() {
        let written = r#"{"name":"a\n","size":255,"offset":-3,"share":0.5,"on":true,"color":"green","labels":{"a.b/c":"d"},
            "parts":[{"of":"x"},{"of":"y","sizes":[1,2]},{"of":"z","sizes":null}]}"#;
        let part = |of: &str, sizes| Part { of: of.into(), sizes };
        let read = Form {
            name: Some("a\n".into()),
            size: 255,
            offset: -3,
            share: 0.5,
            on: true,
            color: Some(Color::Green),
            parts: vec![part("x", None), part("y", Some(vec![1, 2])), part("z", None)],
            labels: BTreeMap::from([("a.b/c".into(), "d".into())]),
        };
        assert_eq!(form(written), Ok(read));
        assert_eq!(form("{}"), Ok(Form::default()));
    }

    #[test]
    fn what_is_refused_is_named_by_its_path() {
        for (written, refusal) in [
            (
                r#"{"nam":1}"#,
                "nam: unknown field `nam`, expected one of `name`, `size`, `offset`, `share`, `on`, `color`, `parts`, `labels`",
            ),
            (r#"{"size":"x"}"#, r#"size: invalid type: string "x", expected u8"#),
            (r#"{"size":256}"#, "size: invalid value: integer `256`, expected u8"),
            (
                r#"{"size":1.5}"#,
                "size: invalid type: floating point `1.5`, expected u8",
            ),
            (r#"{"on":null}"#, "on: invalid type: null, expected a boolean"),
            (r#"{"name":{}}"#, "name: invalid type: map, expected a string"),
            (
                r#"{"color":"blue"}"#,
                "color: unknown variant `blue`, expected `red` or `green`",
            ),
            (
                r#"{"color":3}"#,
                "color: invalid type: integer `3`, expected enum Color",
            ),
            (r#"{"parts":[{"of":"x"},{}]}"#, "parts[1]: missing field `of`"),
            (
                r#"{"parts":[{"of":"x","sizes":[1,-2]}]}"#,
                "parts[0].sizes[1]: invalid value: integer `-2`, expected u8",
            ),
            (
                r#"{"parts":[{"of":"x","off":[]}]}"#,
                "parts[0].off: unknown field `off`, expected `of` or `sizes`",
            ),
            (
                r#"{"parts":[["x"]]}"#,
                "parts[0]: invalid type: sequence, expected struct Part",
            ),
            (
                r#"{"labels":{"a.b":true}}"#,
                "labels.a.b: invalid type: boolean `true`, expected a string",
            ),
            (r#"{"size":1,"size":2}"#, "duplicate field `size`"),
            ("[]", "invalid type: sequence, expected struct Form"),
            ("{", "EOF while parsing an object at line 1 column 1"),
            ("{} {", "trailing characters at line 1 column 4"),
        ] {
            assert_eq!(form(written), Err(refusal.to_owned()), "{written}");
        }
    }

    #[test]
    fn a_tree_that_is_too_deep_is_refused() {
        let refusal = form(&"[".repeat(1_000)).unwrap_err();
        assert!(refusal.starts_with("recursion limit exceeded"), "{refusal}");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..64), text in "[\\[\\]{}\":,a1]{0,40}") {
            let _ = read::<Form>(&bytes);
            let _ = form(&text);
        }
    }
}
