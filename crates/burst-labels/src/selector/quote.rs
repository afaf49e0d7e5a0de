//! Quotes a text as Go does with `%q`.

use std::fmt;
use std::fmt::Write as _;

pub(super) struct Quote<'a>(pub(super) &'a str);

impl fmt::Display for Quote<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\u{7}' => f.write_str("\\a")?,
                '\u{8}' => f.write_str("\\b")?,
                '\u{c}' => f.write_str("\\f")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                '\u{b}' => f.write_str("\\v")?,
                '\0'..='\u{1f}' | '\u{7f}' => write!(f, "\\x{:02x}", u32::from(c))?,
                c if is_printable(c) => f.write_char(c)?,
                '\u{80}'..='\u{ffff}' => write!(f, "\\u{:04x}", u32::from(c))?,
                c => write!(f, "\\U{:08x}", u32::from(c))?,
            }
        }
        f.write_char('"')
    }
}

/// Returns whether a character is printable, according to `escape_debug` of the standard library. The character is
/// placed after a letter, because `escape_debug` escapes a combining mark at the start of a text.
fn is_printable(c: char) -> bool {
    c.is_ascii_graphic() || c == ' ' || format!("a{c}").escape_debug().nth(2).is_none()
}

#[cfg(test)]
mod tests {
    use super::Quote;

    #[test]
    fn characters_that_are_not_printable_are_escaped_as_in_go() {
        assert_eq!(
            Quote("a\"\\\u{1}\u{7f}é\u{301}").to_string(),
            "\"a\\\"\\\\\\x01\\x7fé\u{301}\""
        );
        assert_eq!(
            Quote("\u{ad}\u{e000}\u{10ffff}").to_string(),
            "\"\\u00ad\\ue000\\U0010ffff\""
        );
    }
}
