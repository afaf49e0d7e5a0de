//! Writes JSON as Go's encoder does, so that bodies equal those of the reference byte for byte.
//! <https://pkg.go.dev/encoding/json#Marshal>

use super::TypeMeta;
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use std::io;

/// Appends a value as JSON.
pub(super) fn append(json: &mut Vec<u8>, value: &impl Serialize) {
    let mut serializer = Serializer::with_formatter(json, GoFormatter);
    // Writing to a vector cannot fail, and neither can serializing strings, numbers and maps with string keys.
    let _ = value.serialize(&mut serializer);
}

/// Appends the begin of an object, up to its kind.
pub(super) fn append_type_meta(json: &mut Vec<u8>, type_meta: TypeMeta<'_>) {
    json.extend_from_slice(br#"{"kind":"#);
    append(json, &type_meta.kind);
    json.extend_from_slice(br#","apiVersion":"#);
    append(json, &type_meta.api_version);
}

/// Like Go, it also escapes characters that HTML would read as markup.
struct GoFormatter;

impl Formatter for GoFormatter {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        // Almost every string is a name and has nothing to escape.
        if !fragment.bytes().any(|byte| matches!(byte, b'<' | b'>' | b'&' | 0xe2)) {
            return writer.write_all(fragment.as_bytes());
        }
        for part in fragment.split_inclusive(is_markup) {
            let plain = part.trim_end_matches(is_markup);
            writer.write_all(plain.as_bytes())?;
            for character in part.chars().filter(|character| is_markup(*character)) {
                write!(writer, "\\u{:04x}", u32::from(character))?;
            }
        }
        Ok(())
    }
}

fn is_markup(character: char) -> bool {
    matches!(character, '<' | '>' | '&' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(text: &str) -> String {
        let mut json = Vec::new();
        append(&mut json, &text);
        String::from_utf8(json).unwrap()
    }

    #[test]
    fn markup_is_escaped_as_go_does() {
        assert_eq!(
            written("a<b>>&\"\\\u{1}\u{2028}€"),
            r#""a\u003cb\u003e\u003e\u0026\"\\\u0001\u2028€""#
        );
    }

    proptest! {
        #[test]
        fn any_string_is_read_back_unchanged(text in "\\PC*|.*|[<>&\u{2028}a]*") {
            prop_assert_eq!(serde_json::from_str::<String>(&written(&text)).unwrap(), text);
        }
    }
}
