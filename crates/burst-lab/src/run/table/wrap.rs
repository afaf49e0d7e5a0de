//! Text in lines of a limited width. ratatui can wrap as well, but does not say how many lines there will be.

use burst_printable::Printable;
use ratatui::text::Span;

/// Breaks a text at its spaces. Control characters and characters that change the direction of text are replaced. A word that
/// is wider than a line has a line of its own, and is cut off.
pub(super) fn wrap(text: &str, width: u16) -> Vec<String> {
    let text = Printable::whole(text).to_string();
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let Some(line) = lines.last_mut() else { continue };
        if line.is_empty() {
            line.push_str(word);
        } else if Span::raw(line.as_str()).width() + 1 + Span::raw(word).width() <= usize::from(width) {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("one two three", 6), ["one", "two", "three"]);
        assert_eq!(wrap("", 6), [""]);
    }

    #[test]
    fn a_wide_word_has_its_own_line_and_wide_characters_count_twice() {
        assert_eq!(wrap("a wide-word b", 4), ["a", "wide-word", "b"]);
        assert_eq!(wrap("漢字 漢字", 8), ["漢字", "漢字"]);
    }

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(wrap("a\n\u{1b}[31m b", 80), ["a␊␛[31m b"]);
    }
}
