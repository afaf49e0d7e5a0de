//! What people wrote as JSON, a configuration or a policy, read into types so that a refusal names the key.
//!
//! `serde` with `serde_path_to_error` does so too, for every format: each type has code of its own, and each visitor of
//! each type is wrapped in more, which was a fifth of the Wasm module. Here the text becomes a tree first, which is the same
//! for all types, and the path is put together while an error goes back up. The words are those of `serde`.
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

mod choice;
mod error;
mod form;
mod tree;
mod word;

pub use choice::{unknown, word_of};
pub use error::Refusal;
pub use form::{Field, fill_in};
pub use tree::Tree;
pub use word::Word;

/// Reads a `T` from JSON.
///
/// # Errors
/// The text is not JSON, or the first thing that a `T` cannot have, with its path.
pub fn read<T: Word>(json: &[u8]) -> Result<T, Refusal> {
    T::read(Tree::parse(json)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[derive(Debug, Default, PartialEq)]
    struct Form {
        name: Option<String>,
        size: u32,
        on: bool,
        color: Option<Color>,
        parts: Vec<Part>,
        labels: BTreeMap<String, String>,
    }

    form!(Form {
        name,
        size,
        on,
        color,
        parts,
        labels
    });

    #[derive(Debug, Default, PartialEq)]
    struct Part {
        of: String,
        all_sizes: Option<Vec<u32>>,
    }

    form!(Part { of: required, all_sizes = "sizes" });

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Color {
        Red,
        Green,
    }

    choice!(Color { "red" => Red, "green" => Green });

    fn form(json: &str) -> Result<Form, String> {
        read(json.as_bytes()).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn everything_that_is_written_is_read() {
        let written = r#"{"name":"a\n","size":255,"on":true,"color":"green","labels":{"a.b/c":"d"},
            "parts":[{"of":"x"},{"of":"y","sizes":[1,2]},{"of":"z","sizes":null}]}"#;
        let part = |of: &str, sizes| Part {
            of: of.into(),
            all_sizes: sizes,
        };
        let read = Form {
            name: Some("a\n".into()),
            size: 255,
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
                "nam: unknown field `nam`, expected one of `name`, `size`, `on`, `color`, `parts`, `labels`",
            ),
            (r#"{"size":"x"}"#, r#"size: invalid type: string "x", expected u32"#),
            (
                r#"{"size":4294967296}"#,
                "size: invalid value: integer `4294967296`, expected u32",
            ),
            (
                r#"{"size":1.5}"#,
                "size: invalid type: floating point `1.5`, expected u32",
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
                "parts[0].sizes[1]: invalid value: integer `-2`, expected u32",
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
