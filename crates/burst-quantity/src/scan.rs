//! Splits the text of a quantity into its parts. Like Go's scanner, it accepts `-`, `.`, `5.` and `Ki`.

/// The parts of a quantity's text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct QuantityParts<'a> {
    pub negative: bool,
    /// Digits before the point, without leading zeros.
    pub whole: &'a str,
    /// Digits after the point.
    pub fraction: &'a str,
    pub suffix: &'a str,
    /// Whether there is a digit before the suffix. A leading zero counts.
    pub has_digits: bool,
}

/// Splits a text. Returns `None` if the text after the number does not have the form of a suffix.
pub(super) fn scan(text: &str) -> Option<QuantityParts<'_>> {
    let negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let significant = unsigned.trim_start_matches('0');
    let (whole, rest) = digits(significant);
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => digits(rest),
        None => ("", rest),
    };
    let has_digits = significant.len() < unsigned.len() || !whole.is_empty() || !fraction.is_empty();
    is_suffix(suffix).then_some(QuantityParts {
        negative,
        whole,
        fraction,
        suffix,
        has_digits,
    })
}

fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// Returns whether a text has the form of a suffix: letters, a sign and digits, each optional.
fn is_suffix(text: &str) -> bool {
    let rest = text.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let rest = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    rest.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_split_at_the_point_and_before_the_suffix() {
        let parts = scan("-001.50e-3").unwrap();
        assert_eq!(
            (parts.negative, parts.whole, parts.fraction, parts.suffix),
            (true, "1", "50", "e-3")
        );
    }

    #[test]
    fn a_text_without_the_form_of_a_suffix_is_refused() {
        for text in ["1 Gi", "1Gi ", "1..5", "0x1F", "1_000", "1e5e", "١"] {
            assert_eq!(scan(text), None, "{text}");
        }
    }
}
