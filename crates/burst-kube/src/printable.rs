//! Foreign text on its way into a log line.

/// The beginning of a text, with a space for every control character: one line, of a bounded length.
#[must_use]
pub fn printable(text: &str, most: usize) -> String {
    text.trim()
        .chars()
        .take(most)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_log_line_stays_one_line() {
        assert_eq!(super::printable(" a\r\nb\u{1b}[31m ", 100), "a  b [31m");
        assert_eq!(super::printable("äöü", 2), "äö");
    }
}
