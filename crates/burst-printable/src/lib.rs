//! Makes untrusted text safe to print: names, labels, messages and file names.
//!
//! A terminal executes escape sequences, a log reader ends an entry at a line break, and a bidirectional override changes
//! the order in which text is shown. [`Printable`] replaces such characters by visible ones.
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

use std::fmt::{self, Display, Formatter, Write};

/// The number of characters that [`Printable::new`] shows: longer than our own messages, shorter than a screen.
pub const LONGEST: usize = 4096;

/// How many characters of text from another program a log line or an error message quotes.
pub const LONGEST_QUOTE: usize = 300;

/// Returns a value as [`Printable`] shows it: its first `longest` characters, and how many there are beyond them.
///
/// The characters beyond are counted but never held in memory.
///
/// ```
/// assert_eq!(burst_printable::printable("web\nok, and more", 6), "web␊ok… (10 more characters)");
/// ```
#[must_use]
pub fn printable(value: impl Display, longest: usize) -> String {
    let text = format_args!("{value}");
    Printable { text, longest }.to_string()
}

/// Shows text on one line. Each character that is not [printable](is_printable) is replaced by a visible one: the symbol of
/// a C0 control character (`␛` for escape, `␊` for a line feed), `\u{fffd}` for any other.
///
/// Each character is replaced by exactly one, so columns stay valid.
///
/// ```
/// use burst_printable::Printable;
///
/// assert_eq!(Printable::new("web\u{1b}[2J\nok").to_string(), "web␛[2J␊ok");
/// assert_eq!(Printable::new("a".repeat(5000)).to_string().len(), 4096 + "… (904 more characters)".len());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Printable<T> {
    text: T,
    longest: usize,
}

impl<T: Display> Printable<T> {
    /// Shows the first [`LONGEST`] characters, and how many follow.
    pub fn new(text: T) -> Self {
        Self { text, longest: LONGEST }
    }

    /// Shows the whole text.
    pub fn whole(text: T) -> Self {
        let longest = usize::MAX;
        Self { text, longest }
    }
}

impl<T: Display> Display for Printable<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut shown = Shown {
            f,
            characters_left: self.longest,
            omitted: 0,
        };
        write!(shown, "{}", self.text)?;
        match shown.omitted {
            0 => Ok(()),
            1 => f.write_str("… (1 more character)"),
            omitted => write!(f, "… ({omitted} more characters)"),
        }
    }
}

/// Writes the first `room` characters and counts the rest.
struct Shown<'a, 'b> {
    f: &'a mut Formatter<'b>,
    characters_left: usize,
    omitted: usize,
}

impl Write for Shown<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            if self.characters_left == 0 {
                self.omitted += 1;
            } else {
                self.characters_left -= 1;
                self.f.write_char(shown(character))?;
            }
        }
        Ok(())
    }
}

fn shown(character: char) -> char {
    match character {
        _ if is_printable(character) => character,
        '\0'..='\u{1f}' => char::from_u32(u32::from(character) + 0x2400).unwrap_or(char::REPLACEMENT_CHARACTER),
        '\u{7f}' => '\u{2421}',
        _ => char::REPLACEMENT_CHARACTER,
    }
}

/// Returns whether a character is visible and has no other effect: it is not a control character, a line break, a change of
/// the writing direction, or invisible.
///
/// The only printable white space is the blank; a tab is not printable.
#[must_use]
pub fn is_printable(character: char) -> bool {
    !character.is_control()
        && !matches!(
            character,
            // The soft hyphen, and bidirectional marks and overrides.
            '\u{ad}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            // Line and paragraph separators.
            | '\u{2028}' | '\u{2029}'
            // Characters of width zero.
            | '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn characters_that_control_a_terminal_are_made_visible() {
        for (text, shown) in [
            ("web", "web"),
            ("größe – 5 Mi", "größe – 5 Mi"),
            ("\u{1b}]0;a\u{7}", "␛]0;a␇"),
            ("a\r\nb\tc\u{7f}", "a␍␊b␉c␡"),
            ("\u{9b}31m\u{85}", "\u{fffd}31m\u{fffd}"),
            (
                "\u{202e}gpj.exe\u{2066}\u{2028}\u{200b}",
                "\u{fffd}gpj.exe\u{fffd}\u{fffd}\u{fffd}",
            ),
        ] {
            assert_eq!(Printable::new(text).to_string(), shown, "{text:?}");
        }
    }

    #[test]
    fn cut_text_ends_with_the_number_of_omitted_characters() {
        let text = |longer: usize| Printable::new("é".repeat(LONGEST + longer)).to_string();
        assert_eq!(text(0), "é".repeat(LONGEST));
        assert_eq!(text(1), format!("{}… (1 more character)", "é".repeat(LONGEST)));
        let whole = "\n".repeat(10 * LONGEST);
        assert!(text(9 * LONGEST).ends_with(&format!("é… ({} more characters)", 9 * LONGEST)));
        assert_eq!(Printable::whole(&whole).to_string(), "␊".repeat(10 * LONGEST));
    }

    #[test]
    fn a_quote_is_cut_between_characters() {
        for (text, quote) in [("äöü", "äöü"), ("äöüß", "äöü… (1 more character)"), ("a\n\n", "a␊␊")]
        {
            assert_eq!(printable(text, 3), quote);
        }
        assert_eq!(
            printable(format_args!("{}{}", "x".repeat(10), "ü"), 9),
            "xxxxxxxxx… (2 more characters)"
        );
    }

    proptest! {
        #[test]
        fn a_quote_is_one_line_of_a_bounded_length(text in any::<String>(), longest in 0..64_usize) {
            let quote = printable(&text, longest);
            prop_assert!(quote.chars().count() <= longest + "… (18446744073709551615 more characters)".len());
            prop_assert!(quote.chars().all(is_printable));
        }

        #[test]
        fn each_character_becomes_one_that_is_printable(text in any::<String>()) {
            let shown = Printable::new(&text).to_string();
            prop_assert_eq!(shown.chars().count(), text.chars().count());
            prop_assert!(shown.chars().all(is_printable));
            prop_assert_eq!(&Printable::new(&shown).to_string(), &shown);
            if text.chars().all(is_printable) {
                prop_assert_eq!(shown, text);
            }
        }
    }
}
