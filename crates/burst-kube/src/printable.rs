//! Text from the network that is written to the log, or to an error message.

use std::fmt::{self, Display, Write};

/// The most bytes of such text in one message.
pub const MAX_MESSAGE_BYTES: usize = 300;

/// Formats a value as one line of at most `max_bytes` bytes, followed by the number of omitted bytes. Characters that do
/// not print as themselves, such as line breaks, terminal escapes and marks of the text's direction, are escaped. The
/// omitted bytes are never held in memory.
#[must_use]
pub fn printable(value: impl Display, max_bytes: usize) -> String {
    write(format_args!("{value}"), max_bytes)
}

fn write(value: fmt::Arguments<'_>, max_bytes: usize) -> String {
    let mut line = LineWriter {
        text: String::new(),
        max_bytes,
        omitted_bytes: 0,
    };
    let _ = line.write_fmt(value);
    line.finish()
}

struct LineWriter {
    text: String,
    max_bytes: usize,
    /// Bytes that are not in the text.
    omitted_bytes: usize,
}

impl Write for LineWriter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text.chars();
        while self.omitted_bytes == 0
            && let Some(c) = rest.next()
        {
            self.push(c);
        }
        self.omitted_bytes = self.omitted_bytes.saturating_add(rest.as_str().len());
        Ok(())
    }
}

impl LineWriter {
    fn push(&mut self, c: char) {
        let before = self.text.len();
        match c {
            // The only printable characters that `escape_debug` escapes. They do no harm outside of a literal.
            '"' | '\'' | '\\' => self.text.push(c),
            _ => self.text.extend(c.escape_debug()),
        }
        if self.text.len() > self.max_bytes {
            self.text.truncate(before);
            self.omitted_bytes = c.len_utf8();
        }
    }

    fn finish(mut self) -> String {
        if self.omitted_bytes > 0 {
            let _ = write!(self.text, "… ({} more bytes)", self.omitted_bytes);
        }
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The longest suffix with the number of omitted bytes.
    const TAIL: usize = "… (18446744073709551615 more bytes)".len();

    #[test]
    fn a_line_stays_one_line_without_terminal_escapes() {
        for (text, line) in [
            ("a\r\nb\u{1b}[31m", r"a\r\nb\u{1b}[31m"),
            ("\u{202e}txt\u{2028}\u{feff}", r"\u{202e}txt\u{2028}\u{feff}"),
            (r#""it's" \d"#, r#""it's" \d"#),
            ("größer 日本 🦀", "größer 日本 🦀"),
        ] {
            assert_eq!(printable(text, 100), line);
        }
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(printable("äöü", 6), "äöü");
        assert_eq!(printable("äöü", 5), "äö… (2 more bytes)");
        assert_eq!(printable("a\n\n", 4), "a\\n… (1 more bytes)");
        assert_eq!(
            printable(format_args!("{}{}", "x".repeat(10), "ü"), 9),
            "xxxxxxxxx… (3 more bytes)"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_one_printable_line_of_a_bounded_length(text in any::<String>(), most in 0..64usize) {
            let line = printable(&text, most);
            prop_assert!(line.len() <= most + TAIL);
            prop_assert!(!line.chars().any(char::is_control));
            if text.chars().all(|c| c.is_ascii_graphic()) && text.len() <= most {
                prop_assert_eq!(line, text);
            }
        }
    }
}
