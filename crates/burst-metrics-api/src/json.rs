//! Writes JSON as Go's encoder does, so that bodies equal those of the reference byte for byte.

use std::fmt;
use std::fmt::Write as _;

/// A JSON string, in quotes. Like Go, it also escapes characters that HTML would read as markup.
/// <https://pkg.go.dev/encoding/json#Marshal>
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonString<'a>(pub(crate) &'a str);

impl fmt::Display for JsonString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        // Almost every string is a name and needs no escape.
        if self.0.bytes().all(is_plain) {
            f.write_str(self.0)?;
            return f.write_char('"');
        }
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                '\u{8}' => f.write_str("\\b")?,
                '\u{c}' => f.write_str("\\f")?,
                '\0'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => write!(f, "\\u{:04x}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

/// Returns whether a byte is a whole character that needs no escape.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'&')
}

/// Joins items with commas.
pub(crate) fn comma_separated<T: fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let mut text = String::new();
    for item in items {
        let comma = if text.is_empty() { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}{item}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn markup_is_escaped_as_go_does() {
        assert_eq!(
            JsonString("a<b>&\"\\\u{1}").to_string(),
            r#""a\u003cb\u003e\u0026\"\\\u0001""#
        );
    }

    proptest! {
        #[test]
        fn any_string_is_read_back_unchanged(text in "\\PC*|.*") {
            prop_assert_eq!(serde_json::from_str::<String>(&JsonString(&text).to_string()).unwrap(), text);
        }
    }
}
