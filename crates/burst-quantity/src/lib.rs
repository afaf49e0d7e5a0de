//! Kubernetes quantities (`100m`, `1Gi`, `3e6`), with the same parsing, printing and rounding as Go's
//! [`resource.Quantity`].
//!
//! No digit is lost and no float is used. The quirks of Go's type are kept, because the API server stores what it
//! prints and the HPA controller computes with what it rounds.
//!
//! [`resource.Quantity`]: https://pkg.go.dev/k8s.io/apimachinery/pkg/api/resource#Quantity
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

mod canonical;
mod decimal;
mod integer;
mod parse;
mod scan;
mod suffix;

use std::cmp::Ordering;
use std::fmt;

use decimal::Decimal;
#[cfg(feature = "k8s-openapi")]
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as K8sQuantity;
pub use parse::ParseQuantityError;

/// A fixed-point number that remembers the family of suffixes it was written with.
///
/// ```
/// # use burst_quantity::Quantity;
/// let memory: Quantity = "1024Mi".parse()?;
/// assert_eq!(memory.to_string(), "1Gi");
/// assert_eq!("0.5".parse::<Quantity>()?.milli_value(), 500);
/// # Ok::<_, burst_quantity::ParseQuantityError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Quantity {
    amount: Amount,
    format: Format,
    /// The original text, if Go's parser treats it as canonical. Go does so for `+5` and `007` too.
    verbatim: Option<Box<str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    DecimalSi,
    DecimalExponent,
    BinarySi,
}

/// Go has two representations that round and overflow differently. The result of [`Quantity::milli_value`] depends on
/// the representation.
#[derive(Clone, Debug)]
enum Amount {
    /// `value × 10^scale`.
    Integer { value: i64, scale: i32 },
    /// More digits than an `i64` holds, rounded up to whole billionths.
    Decimal(Decimal),
    /// A binary quantity of 2⁶³ or more, which Go limits to 2⁶³ − 1.
    Capped { negative: bool },
}

impl Quantity {
    /// Returns thousandths, rounded up: the unit in which the HPA controller computes (Go's `MilliValue`).
    ///
    /// As in Go, an amount that does not fit is *not* an error: the result is 0 or wraps around.
    #[must_use]
    pub fn milli_value(&self) -> i64 {
        self.scaled_value(-3)
    }

    /// Returns whole units, rounded up (Go's `Value`). An amount that does not fit gives 0 or wraps around.
    #[must_use]
    pub fn value(&self) -> i64 {
        self.scaled_value(0)
    }

    /// Returns the sign: -1, 0 or 1.
    #[must_use]
    pub fn signum(&self) -> i8 {
        match &self.amount {
            Amount::Integer { value, .. } => match value.cmp(&0) {
                Ordering::Less => -1,
                Ordering::Equal => 0,
                Ordering::Greater => 1,
            },
            Amount::Decimal(decimal) => decimal.signum(),
            Amount::Capped { negative: true } => -1,
            Amount::Capped { negative: false } => 1,
        }
    }

    /// Returns whether [`milli_value`](Self::milli_value) is exact up to rounding, and not the result of an overflow.
    ///
    /// ```
    /// # use burst_quantity::Quantity;
    /// assert!("9P".parse::<Quantity>()?.fits_milli());
    /// assert!(!"10P".parse::<Quantity>()?.fits_milli());
    /// # Ok::<_, burst_quantity::ParseQuantityError>(())
    /// ```
    #[must_use]
    pub fn fits_milli(&self) -> bool {
        let limit = Decimal::from_integer(i64::MAX, -3);
        let least = Decimal::from_integer(-i64::MAX, -3);
        let exact = self.exact();
        exact <= limit && exact >= least
    }

    fn scaled_value(&self, scale: i32) -> i64 {
        match &self.amount {
            Amount::Integer { value, scale: own } => integer::scaled(*value, *own, scale),
            Amount::Decimal(decimal) => decimal.scaled(scale),
            Amount::Capped { negative } => {
                let cap = if *negative { -i64::MAX } else { i64::MAX };
                cap.wrapping_mul(10_i64.pow(scale.unsigned_abs()))
            }
        }
    }

    fn exact(&self) -> Decimal {
        match &self.amount {
            Amount::Integer { value, scale } => Decimal::from_integer(*value, *scale),
            Amount::Decimal(decimal) => decimal.clone(),
            Amount::Capped { negative } => Decimal::from_integer(if *negative { -i64::MAX } else { i64::MAX }, 0),
        }
    }
}

/// The canonical form, as the apiserver stores it.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.verbatim {
            Some(text) => f.write_str(text),
            None => canonical::write(&self.exact(), self.format, f),
        }
    }
}

/// Compares amounts: `1Gi` equals `1024Mi`.
impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.exact().cmp(&other.exact())
    }
}

impl Quantity {
    /// Creates a quantity from thousandths.
    ///
    /// ```
    /// # use burst_quantity::Quantity;
    /// assert_eq!(Quantity::from_milli(2_500).to_string(), "2500m");
    /// assert_eq!(Quantity::from_milli(2_000_000).to_string(), "2k");
    /// ```
    #[must_use]
    pub fn from_milli(value: i64) -> Self {
        Self {
            amount: Amount::Integer { value, scale: -3 },
            format: Format::DecimalSi,
            verbatim: None,
        }
    }
}

impl From<i64> for Quantity {
    fn from(value: i64) -> Self {
        Self {
            amount: Amount::Integer { value, scale: 0 },
            format: Format::DecimalSi,
            verbatim: None,
        }
    }
}

impl From<i32> for Quantity {
    fn from(value: i32) -> Self {
        i64::from(value).into()
    }
}

impl From<u32> for Quantity {
    fn from(value: u32) -> Self {
        i64::from(value).into()
    }
}

#[cfg(feature = "k8s-openapi")]
impl From<Quantity> for K8sQuantity {
    fn from(quantity: Quantity) -> Self {
        Self(quantity.to_string())
    }
}

#[cfg(feature = "k8s-openapi")]
impl TryFrom<&K8sQuantity> for Quantity {
    type Error = ParseQuantityError;

    fn try_from(quantity: &K8sQuantity) -> Result<Self, Self::Error> {
        quantity.0.trim().parse()
    }
}

impl TryFrom<&str> for Quantity {
    type Error = ParseQuantityError;

    fn try_from(text: &str) -> Result<Self, Self::Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantity(text: &str) -> Quantity {
        text.parse().unwrap_or_else(|e| panic!("{text:?}: {e}"))
    }

    #[test]
    fn canonical_forms_are_the_same_as_in_go() {
        let table = [
            ("1024Mi", "1Gi", "binary factors move into the suffix"),
            ("1536Mi", "1536Mi", "only if the result is an integer"),
            ("1.5Gi", "1536Mi", "no fraction is printed"),
            ("0.5", "500m", "no fraction is printed"),
            ("1000", "1k", "decimal factors move into the suffix"),
            ("+5", "+5", "Go treats this text as canonical"),
            ("1000E", "1", "Go has no suffix above E and drops the exponent"),
            ("100e99", "100e99", "multiples of three only"),
            ("1e100", "10e99", "multiples of three only"),
            ("0.0001u", "1n", "rounded up to a billionth"),
            ("16Ei", "9223372036854775807", "binary amounts are capped"),
            ("0.1Ki", "102400m", "an amount below 1024 gets a decimal suffix"),
            ("m", "0", "a bare suffix is zero"),
            ("-", "0", "a bare sign is zero"),
        ];
        for (text, canonical, why) in table {
            assert_eq!(quantity(text).to_string(), canonical, "{text}: {why}");
        }
    }

    #[test]
    fn an_overflow_gives_the_same_result_as_in_go() {
        assert_eq!(quantity("1E").milli_value(), 0);
        assert_eq!(quantity("9P").milli_value(), 9_000_000_000_000_000_000);
        assert_eq!(quantity("8Ei").milli_value(), i64::MAX.wrapping_mul(1000));
    }

    #[test]
    fn quantities_are_compared_by_amount() {
        assert_eq!(quantity("1Gi"), quantity("1024Mi"));
        assert!(quantity("1.5") > quantity("1499m"));
        assert!(quantity("-2") < quantity("-1"));
    }
}
