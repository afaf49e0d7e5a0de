//! JSON as Go's encoder writes it, where bodies are to be the same bytes.

use std::fmt;
use std::fmt::Write as _;

/// A text in quotes. Go escapes what HTML would take for markup, too.
/// <https://pkg.go.dev/encoding/json#Marshal>
#[derive(Clone, Copy, Debug)]
pub(super) struct Quoted<'a>(pub(super) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        // Almost every text is a name.
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

/// Whether a byte stands in a quoted text as it is, and belongs to no character that does not.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'&')
}

/// Things with commas between them.
pub(super) fn list<T: fmt::Display>(things: impl IntoIterator<Item = T>) -> String {
    let mut text = String::new();
    for thing in things {
        let comma = if text.is_empty() { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}{thing}");
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
            Quoted("a<b>&\"\\\u{1}").to_string(),
            r#""a\u003cb\u003e\u0026\"\\\u0001""#
        );
    }

    proptest! {
        #[test]
        fn any_text_comes_back(text in "\\PC*|.*") {
            prop_assert_eq!(serde_json::from_str::<String>(&Quoted(&text).to_string()).unwrap(), text);
        }
    }
}
