//! Writes the canonical form: the largest suffix that needs no fraction and loses no digit.

use std::fmt;

use super::decimal::Decimal;
use super::{Format, suffix};

pub(super) fn write(amount: &Decimal, format: Format, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if amount.signum() == 0 {
        return f.write_str("0");
    }
    match (format, binary(amount)) {
        (Format::BinarySi, Some(integer)) => write_binary(integer, f),
        (Format::DecimalExponent, _) => write_decimal(amount, f, |exponent| match exponent {
            0 => String::new(),
            _ => format!("e{exponent}"),
        }),
        _ => write_decimal(amount, f, |exponent| suffix::decimal(exponent).to_owned()),
    }
}

/// Returns the amount if Go writes it with a binary suffix: an integer of at least 1024 in magnitude.
fn binary(amount: &Decimal) -> Option<i64> {
    amount.to_integer().filter(|integer| integer.unsigned_abs() >= 1024)
}

fn write_binary(mut integer: i64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut bits = 0;
    while integer.unsigned_abs() >= 1024 && integer % 1024 == 0 {
        integer /= 1024;
        bits += 10;
    }
    write!(f, "{integer}{}", suffix::binary(bits))
}

fn write_decimal(amount: &Decimal, f: &mut fmt::Formatter<'_>, suffix: impl Fn(i64) -> String) -> fmt::Result {
    let exponent = amount.exponent();
    let borrowed = exponent.rem_euclid(3);
    if amount.signum() < 0 {
        f.write_str("-")?;
    }
    for digit in amount.digits() {
        write!(f, "{digit}")?;
    }
    for _ in 0..borrowed {
        f.write_str("0")?;
    }
    f.write_str(&suffix(exponent - borrowed))
}
