//! The suffixes of a quantity and their factors.

use super::Format;

/// The factor of a suffix.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Suffix {
    /// `10^exponent`, written as a letter or as `e…`.
    Decimal { exponent: i32, format: Format },
    /// `2^bits`. `bits` is a multiple of ten, at most 60.
    Binary { bits: u32 },
}

const DECIMAL: [(&str, i64); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];

const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

pub(super) fn interpret(text: &str) -> Option<Suffix> {
    if let Some((_, exponent)) = DECIMAL.into_iter().find(|(name, _)| *name == text) {
        return Some(Suffix::Decimal {
            exponent: i32::try_from(exponent).ok()?,
            format: Format::DecimalSi,
        });
    }
    if let Some((_, bits)) = BINARY.into_iter().find(|(name, _)| *name == text) {
        return Some(Suffix::Binary { bits });
    }
    let exponent: i64 = text.strip_prefix(['e', 'E'])?.parse().ok()?;
    // Go silently keeps only the low 32 bits of the exponent.
    #[expect(clippy::cast_possible_truncation)]
    let exponent = exponent as i32;
    Some(Suffix::Decimal {
        exponent,
        format: Format::DecimalExponent,
    })
}

/// Returns the suffix for `10^exponent`. It is empty if there is none: Go then prints the number without its exponent.
pub(super) fn decimal(exponent: i64) -> &'static str {
    DECIMAL
        .into_iter()
        .find(|(_, own)| *own == exponent)
        .map_or("", |(name, _)| name)
}

/// Returns the suffix for `2^bits`.
pub(super) fn binary(bits: u32) -> &'static str {
    BINARY
        .into_iter()
        .find(|(_, own)| *own == bits)
        .map_or("", |(name, _)| name)
}
