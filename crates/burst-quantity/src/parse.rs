//! From text to a quantity, along the two ways of Go's parser: small numbers as integers, the rest as decimals.

use std::str::FromStr;

use super::decimal::Decimal;
use super::scan::{QuantityParts, scan};
use super::suffix::{self, Suffix};
use super::{Amount, Format, Quantity};

/// The smallest power of ten a quantity can hold: billionths.
const NANO: i32 = -9;

/// Digits an `i64` always holds.
const INTEGER_DIGITS: usize = 18;

/// Why a text is not a quantity. The words are Go's, as the apiserver answers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseQuantityError {
    /// Empty, or with characters that stand in no quantity.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    /// A suffix that stands for nothing, without a digit to multiply.
    #[error("unable to parse numeric part of quantity")]
    Numeric,
    /// Letters that are no suffix, such as `K` or `mi`, or an exponent beyond 64 bits.
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
    /// Of the digits as written, before a binary suffix multiplied them.
    written: i64,
    value: i64,
    scale: i32,
    format: Format,
}

/// The fast way: the digits, and what a binary suffix makes of them, fit an `i64`.
fn integer<'a>(parts: &'a QuantityParts<'a>, suffix: &Suffix) -> Option<Integer<'a>> {
    let (factor, scale, format, room) = match suffix {
        Suffix::Decimal { exponent, format } => (1, *exponent, *format, INTEGER_DIGITS),
        Suffix::Binary { bits } if parts.fraction.is_empty() => {
            let room = 14_usize.checked_sub(usize::try_from(bits * 3 / 10).ok()?)?;
            (1_i64 << bits, 0, Format::BinarySi, room)
        }
        Suffix::Binary { .. } => return None,
    };
    // Go writes an empty whole part as "0", and that one digit counts.
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

    /// Go's shortcut past its own canonical form. It does not look at signs, leading zeros or a trailing point.
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
        // Only a positive fraction changes its family; a zero keeps it.
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
    fn each_refusal_has_its_own_reason() {
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
        fn any_text_is_parsed_or_refused(text in any::<String>()) {
            let _ = text.parse::<Quantity>();
        }

        #[test]
        fn what_is_printed_is_read_back_as_the_same_amount(
            text in "[+-]?[0-9]{0,40}(\\.[0-9]{0,12})?(n|u|m|k|M|Ki|Mi|Gi|Ti|Pi|Ei|e-?[0-9]{1,9})?",
        ) {
            if let Ok(quantity) = text.parse::<Quantity>() {
                let printed = quantity.to_string();
                // Beyond the letters Go prints a number without its exponent.
                prop_assume!(quantity.format != Format::DecimalSi || quantity.exact().digits().len() + 9 < 27);
                prop_assert_eq!(&printed.parse::<Quantity>().unwrap(), &quantity, "{}", printed);
            }
        }
    }
}
