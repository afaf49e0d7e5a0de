//! Amounts of load as a user writes them: `100rps`, `400%`, `1.5k`, `10x`.

use std::str::FromStr;

use burst_hpa::Quantity;

/// An amount with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    /// In thousandths of the unit; never negative.
    pub milli: i64,
    /// The unit.
    pub unit: AmountUnit,
}

/// The unit of an [`Amount`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AmountUnit {
    /// No unit: that of the metric.
    Unwritten,
    /// Percent of the request of one pod.
    Percent,
    /// Requests per second.
    RequestsPerSecond,
}

/// A level of load: an amount, or a multiple of another level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// An amount.
    Amount(Amount),
    /// `10x`, in thousandths.
    Times(i64),
}

/// Why a text is not an amount or a level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// Neither a number nor a quantity.
    #[error("{0:?} is not an amount such as 100rps, 400% or 1.5k")]
    Unreadable(String),
    /// Below zero.
    #[error("{0:?} is negative")]
    Negative(String),
    /// Too large.
    #[error("{0:?} is more than the controller's thousandths hold, 9.2P")]
    TooLarge(String),
}

impl FromStr for Amount {
    type Err = AmountError;

    fn from_str(text: &str) -> Result<Self, AmountError> {
        let units = [
            ("rps", AmountUnit::RequestsPerSecond),
            ("%", AmountUnit::Percent),
            ("", AmountUnit::Unwritten),
        ];
        let with_unit = |(suffix, unit)| text.strip_suffix(suffix).map(|number| (number, unit));
        let (number, unit) = units
            .into_iter()
            .find_map(with_unit)
            .unwrap_or(("", AmountUnit::Unwritten));
        milli(number.trim_end(), text).map(|milli| Self { milli, unit })
    }
}

impl FromStr for Level {
    type Err = AmountError;

    fn from_str(text: &str) -> Result<Self, AmountError> {
        match text.strip_suffix('x') {
            Some(factor) => milli(factor, text).map(Self::Times),
            None => text.parse().map(Self::Amount),
        }
    }
}

/// Parses `number`, a part of `text`, in thousandths.
fn milli(number: &str, text: &str) -> Result<i64, AmountError> {
    let quantity = number
        .parse::<Quantity>()
        .map_err(|_| AmountError::Unreadable(text.to_owned()))?;
    if !quantity.fits_milli() {
        return Err(AmountError::TooLarge(text.to_owned()));
    }
    match quantity.milli_value() {
        negative if negative < 0 => Err(AmountError::Negative(text.to_owned())),
        milli => Ok(milli),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_has_a_number_and_at_most_one_unit() {
        for (text, milli, unit) in [
            ("100rps", 100_000, AmountUnit::RequestsPerSecond),
            ("1.5krps", 1_500_000, AmountUnit::RequestsPerSecond),
            ("20 rps", 20_000, AmountUnit::RequestsPerSecond),
            ("400%", 400_000, AmountUnit::Percent),
            ("500m", 500, AmountUnit::Unwritten),
            ("0", 0, AmountUnit::Unwritten),
        ] {
            assert_eq!(text.parse(), Ok(Amount { milli, unit }), "{text}");
        }
        for (text, error) in [
            ("rps", "\"rps\" is not an amount such as 100rps, 400% or 1.5k"),
            ("10rpm", "\"10rpm\" is not an amount such as 100rps, 400% or 1.5k"),
            ("-5rps", "\"-5rps\" is negative"),
            ("1E", "\"1E\" is more than the controller's thousandths hold, 9.2P"),
        ] {
            assert_eq!(text.parse::<Amount>().unwrap_err().to_string(), error);
        }
    }

    #[test]
    fn a_level_may_be_a_multiple() {
        assert_eq!("2.5x".parse(), Ok(Level::Times(2500)));
        let amount = Amount {
            milli: 10_000,
            unit: AmountUnit::Unwritten,
        };
        assert_eq!("10".parse(), Ok(Level::Amount(amount)));
        assert!("x".parse::<Level>().is_err());
    }
}
