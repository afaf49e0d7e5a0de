//! Parses a quantity. Like Go's parser, it stores small numbers as integers and all others as decimals.

use std::str::FromStr;

use super::decimal::Decimal;
use super::scan::{QuantityParts, scan};
use super::suffix::{self, Suffix};
use super::{Amount, Format, Quantity};

/// The exponent of the smallest unit of a quantity: billionths.
const NANO: i32 = -9;

/// The number of digits that always fit into an `i64`.
const INTEGER_DIGITS: usize = 18;

/// Why a text is not a quantity. The messages are those of Go, which the API server returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseQuantityError {
    /// The text is empty or has characters that no quantity contains.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    /// There are no digits before a suffix for which Go requires them, such as `e-10` or `Ei`.
    #[error("unable to parse numeric part of quantity")]
    Numeric,
    /// The suffix is unknown, such as `K` or `mi`, or its exponent needs more than 64 bits.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

impl FromStr for Quantity {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Err(ParseQuantityError::Format);
        }
        let parts = scan(text).ok_or(ParseQuantityError::Format)?;
        let suffix = suffix::interpret(parts.suffix).ok_or(ParseQuantityError::Suffix)?;
        if let Some(integer) = integer(&parts, &suffix) {
            return Ok(integer.quantity(text));
        }
        if !parts.has_digits {
            return Err(ParseQuantityError::Numeric);
        }
        Ok(decimal(&parts, &suffix))
    }
}

struct Integer<'a> {
    parts: &'a QuantityParts<'a>,
    /// The digits as a number, before the suffix and the sign are applied.
    written: i64,
    value: i64,
    scale: i32,
    format: Format,
}

/// Parses a number that fits into an `i64` after multiplication by its binary suffix. Returns `None` for any other
/// number.
fn integer<'a>(parts: &'a QuantityParts<'a>, suffix: &Suffix) -> Option<Integer<'a>> {
    let (factor, scale, format, room) = match suffix {
        Suffix::Decimal { exponent, format } => (1, *exponent, *format, INTEGER_DIGITS),
        Suffix::Binary { bits } if parts.fraction.is_empty() => {
            let room = 14_usize.checked_sub(usize::try_from(bits * 3 / 10).ok()?)?;
            (1_i64 << bits, 0, Format::BinarySi, room)
        }
        Suffix::Binary { .. } => return None,
    };
    // Go reads an empty whole part as "0" and counts that digit.
    let length = parts.whole.len().max(1) + parts.fraction.len();
    if length > room {
        return None;
    }
    let scale = scale.wrapping_sub(i32::try_from(parts.fraction.len()).ok()?);
    if scale < NANO {
        return None;
    }
    let written = parts.digits().fold(0_i64, |sum, digit| sum * 10 + i64::from(digit));
    let value = written.checked_mul(factor)?;
    Some(Integer {
        parts,
        written,
        value: if parts.negative { -value } else { value },
        scale,
        format,
    })
}

impl Integer<'_> {
    fn quantity(self, text: &str) -> Quantity {
        let verbatim = self.counts_as_canonical().then(|| text.into());
        Quantity {
            amount: Amount::Integer {
                value: self.value,
                scale: self.scale,
            },
            format: self.format,
            verbatim,
        }
    }

    /// Returns whether Go's parser treats the text as canonical. The check ignores signs, leading zeros and a trailing
    /// point.
    fn counts_as_canonical(&self) -> bool {
        match self.format {
            Format::BinarySi => self.written & 7 != 0,
            _ => self.scale % 3 == 0 && !self.parts.ends_in_thousand() && !self.parts.whole.is_empty(),
        }
    }
}

fn decimal(parts: &QuantityParts<'_>, suffix: &Suffix) -> Quantity {
    let fraction = i64::try_from(parts.fraction.len()).unwrap_or(i64::MAX);
    let digits: Vec<u8> = parts.digits().collect();
    let (amount, format) = match suffix {
        Suffix::Decimal { exponent, format } => (
            Decimal::new(parts.negative, &digits, i64::from(*exponent) - fraction),
            *format,
        ),
        Suffix::Binary { bits } => (
            Decimal::new(parts.negative, &digits, -fraction).shifted(*bits),
            Format::BinarySi,
        ),
    };
    let amount = amount.rounded_up(NANO.into());
    match format {
        Format::BinarySi if amount.exceeds_i64() => Quantity {
            amount: Amount::Capped {
                negative: parts.negative,
            },
            format,
            verbatim: None,
        },
        // A fraction changes to decimal suffixes; zero does not.
        Format::BinarySi if amount.is_fraction() => Quantity {
            amount: Amount::Decimal(amount),
            format: Format::DecimalSi,
            verbatim: None,
        },
        _ => Quantity {
            amount: Amount::Decimal(amount),
            format,
            verbatim: None,
        },
    }
}

impl QuantityParts<'_> {
    fn digits(&self) -> impl Iterator<Item = u8> {
        self.whole.bytes().chain(self.fraction.bytes()).map(|byte| byte - b'0')
    }

    fn ends_in_thousand(&self) -> bool {
        let length = self.whole.len() + self.fraction.len();
        length >= 3 && self.digits().skip(length - 3).all(|digit| digit == 0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_invalid_text_gives_the_error_that_go_gives() {
        let table = [
            ("", ParseQuantityError::Format),
            ("1 ", ParseQuantityError::Format),
            ("0x10", ParseQuantityError::Format),
            ("1K", ParseQuantityError::Suffix),
            ("--5", ParseQuantityError::Suffix),
            ("1e", ParseQuantityError::Suffix),
            ("1e99999999999999999999", ParseQuantityError::Suffix),
            ("e-10", ParseQuantityError::Numeric),
        ];
        for (text, reason) in table {
            assert_eq!(text.parse::<Quantity>().unwrap_err(), reason, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_quantity_or_an_error(text in any::<String>()) {
            let _ = text.parse::<Quantity>();
        }

        #[test]
        fn a_printed_quantity_parses_to_the_same_amount(
            text in "[+-]?[0-9]{0,40}(\\.[0-9]{0,12})?(n|u|m|k|M|Ki|Mi|Gi|Ti|Pi|Ei|e-?[0-9]{1,9})?",
        ) {
            if let Ok(quantity) = text.parse::<Quantity>() {
                let printed = quantity.to_string();
                // Above the largest suffix Go drops the exponent.
                prop_assume!(quantity.format != Format::DecimalSi || quantity.exact().digits().len() + 9 < 27);
                prop_assert_eq!(&printed.parse::<Quantity>().unwrap(), &quantity, "{}", printed);
            }
        }
    }
}
