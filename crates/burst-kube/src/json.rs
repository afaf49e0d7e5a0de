//! Reads JSON from outside of the filter: responses of the API server, the configuration, and policies.

use burst_printable::{LONGEST_QUOTE, printable};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_path_to_error::Path;
use std::fmt;

/// Reads a response of the API server.
///
/// It reads bytes. Reading text in some places would add a second copy of the code for each type to the Wasm module.
///
/// # Errors
/// Returns an error if the bytes are not JSON, or the JSON is not a `T`.
pub fn read<'a, T: Deserialize<'a>>(json: &'a [u8]) -> serde_json::Result<T> {
    serde_json::from_slice(json)
}

/// Reads a configuration or a policy, which a person wrote. An error names the key.
///
/// # Errors
/// Returns an error if the bytes are not JSON, or the JSON is not a `T`.
pub fn read_with_path<T: DeserializeOwned>(json: &[u8]) -> Result<T, JsonError> {
    let mut json = serde_json::Deserializer::from_slice(json);
    let value =
        serde_path_to_error::deserialize(&mut json).map_err(|error| JsonError::new(error.path(), error.inner()))?;
    json.end().map_err(|error| JsonError::without_path(&error))?;
    Ok(value)
}

/// Shortens a reason that quotes a long value. What was expected instead stands behind the value.
#[must_use]
pub fn shorten(reason: &str) -> String {
    let before_tail = reason.chars().count().saturating_sub(LONGEST_TAIL);
    if before_tail <= LONGEST_QUOTE {
        return reason.to_owned();
    }
    let head = reason.chars().take(LONGEST_QUOTE);
    head.chain(['…']).chain(reason.chars().skip(before_tail)).collect()
}

/// Characters at the end of a reason. The longest list of allowed keys has about 500.
const LONGEST_TAIL: usize = 1_000;

/// An error in JSON, with its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    path: String,
    reason: String,
}

impl JsonError {
    /// Locates a wrong value by its path, and a syntax error by its position in the text.
    ///
    /// A wrong value has no position: Envoy and kube-apiserver write the JSON, and the file that a person edits is a
    /// different one.
    fn new(path: &Path, error: &serde_json::Error) -> Self {
        let message = error.to_string();
        let position = format!(" at line {} column {}", error.line(), error.column());
        match message.strip_suffix(&position) {
            Some(reason) if error.is_data() => Self {
                path: match path.iter().next() {
                    Some(_) => printable(path, LONGEST_QUOTE),
                    None => String::new(),
                },
                reason: shorten(reason),
            },
            _ => Self::without_path(error),
        }
    }

    fn without_path(error: &serde_json::Error) -> Self {
        Self {
            path: String::new(),
            reason: error.to_string(),
        }
    }

    /// Returns the path of the wrong value, such as `clusters[0].name`. It is empty if the document as a whole is
    /// wrong.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the message of `serde` or `serde_json`.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.reason)
    }
}

impl std::error::Error for JsonError {}

/// Implements `Deserialize` for structs so that they are read only from a JSON object. The code that `serde` derives
/// also accepts an array of the field values, but `"header": []` in a configuration is a mistake.
///
/// The structs derive `Deserialize` with `#[serde(remote = "Self")]`. This creates an inherent function, which the
/// macro wraps in the trait.
#[macro_export]
macro_rules! only_from_objects {
    ($($type:ty),+ $(,)?) => { $(
        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
                struct Object;

                impl<'de> ::serde::de::Visitor<'de> for Object {
                    type Value = $type;

                    fn expecting(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_map<A: ::serde::de::MapAccess<'de>>(self, fields: A) -> Result<$type, A::Error> {
                        <$type>::deserialize(::serde::de::value::MapAccessDeserializer::new(fields))
                    }
                }

                json.deserialize_map(Object)
            }
        }
    )+ };
}

/// Implements `Deserialize` for enums without data so that they are read only from a JSON string. The code that `serde`
/// derives also accepts `{"keep": null}` for `"keep"`, and its error for a number does not say that a string is
/// expected.
///
/// The enums derive `Deserialize` with `#[serde(remote = "Self")]`, as for
/// [`only_from_objects`].
#[macro_export]
macro_rules! only_from_strings {
    ($($type:ty),+ $(,)?) => { $(
        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
                struct Text;

                impl ::serde::de::Visitor<'_> for Text {
                    type Value = $type;

                    fn expecting(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                        f.write_str("a string")
                    }

                    fn visit_str<E: ::serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        <$type>::deserialize(::serde::de::value::StrDeserializer::new(text))
                    }
                }

                json.deserialize_str(Text)
            }
        }
    )+ };
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(remote = "Self", default, deny_unknown_fields)]
    struct Config {
        name: Option<String>,
        size: u32,
        on: bool,
        color: Option<Color>,
        parts: Vec<Part>,
        labels: BTreeMap<String, String>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(remote = "Self", deny_unknown_fields)]
    struct Part {
        of: String,
        sizes: Option<Vec<u32>>,
    }

    only_from_objects!(Config, Part);

    #[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
    #[serde(remote = "Self", rename_all = "snake_case")]
    enum Color {
        Red,
        Green,
    }

    only_from_strings!(Color);

    fn config(json: &str) -> Result<Config, String> {
        read_with_path(json.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_reason_keeps_what_was_expected_behind_a_long_value() {
        let reason = format!("unknown field `{}`, expected `a` or `b`", "x".repeat(100_000));
        let short = shorten(&reason);
        assert!(short.len() < 1_400, "{}", short.len());
        assert!(short.starts_with("unknown field `xxx") && short.ends_with("x`, expected `a` or `b`"));
        assert_eq!(shorten("as it is"), "as it is");
    }

    #[test]
    fn every_key_is_read() {
        let json = r#"{"name":"a\n","size":255,"on":true,"color":"green","labels":{"a.b/c":"d"},
            "parts":[{"of":"x"},{"of":"y","sizes":[1,2]},{"of":"z","sizes":null}]}"#;
        let part = |of: &str, sizes| Part { of: of.into(), sizes };
        let read = Config {
            name: Some("a\n".into()),
            size: 255,
            on: true,
            color: Some(Color::Green),
            parts: vec![part("x", None), part("y", Some(vec![1, 2])), part("z", None)],
            labels: BTreeMap::from([("a.b/c".into(), "d".into())]),
        };
        assert_eq!(config(json), Ok(read));
        assert_eq!(config("{}"), Ok(Config::default()));
    }

    #[test]
    fn an_error_names_the_path_the_value_and_what_is_allowed() {
        for (json, error) in [
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
            (
                r#"{"size":99999999999999999999}"#,
                "size: invalid type: floating point `1e+20`, expected u32",
            ),
            (r#"{"on":null}"#, "on: invalid type: null, expected a boolean"),
            (r#"{"name":{}}"#, "name: invalid type: map, expected a string"),
            (
                r#"{"color":"blue"}"#,
                "color: unknown variant `blue`, expected `red` or `green`",
            ),
            (r#"{"color":3}"#, "color: invalid type: integer `3`, expected a string"),
            (
                r#"{"color":{"red":null}}"#,
                "color: invalid type: map, expected a string",
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
                "parts[0]: invalid type: sequence, expected an object",
            ),
            (
                r#"{"labels":{"a.b":true}}"#,
                "labels.a.b: invalid type: boolean `true`, expected a string",
            ),
            (r#"{"size":1,"size":2}"#, "duplicate field `size`"),
            ("[]", "invalid type: sequence, expected an object"),
            ("{", "EOF while parsing an object at line 1 column 1"),
            ("{\"name\":\"a\",}", "trailing comma at line 1 column 13"),
            ("{} {", "trailing characters at line 1 column 4"),
            (
                "{\"name\":\"a\n\"}",
                "control character (\\u0000-\\u001F) found while parsing a string at line 2 column 0",
            ),
        ] {
            assert_eq!(config(json), Err(error.to_owned()), "{json}");
        }
        let not_utf8 = read_with_path::<Config>(b"{\"name\":\"\xff\"}").unwrap_err();
        assert_eq!(not_utf8.to_string(), "invalid unicode code point at line 1 column 10");
    }

    #[test]
    fn json_with_too_many_levels_is_refused() {
        for json in ["[".repeat(1_000), format!(r#"{{"name":{}"#, "[".repeat(1_000))] {
            assert!(config(&json).is_err());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64), text in "[\\[\\]{}\":,a1]{0,40}") {
            let _ = read_with_path::<Config>(&bytes);
            let _ = config(&text);
        }
    }
}
