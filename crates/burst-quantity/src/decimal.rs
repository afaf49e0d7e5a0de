//! A decimal number of any length. Go keeps every digit of a quantity, which may be more than an `i128` holds. The
//! exponent may be two billion, so trailing zeros are never stored.

use std::cmp::Ordering;

/// `±digits × 10^exponent`, without leading or trailing zeros; zero has no digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    pub(super) fn new(negative: bool, digits: &[u8], exponent: i64) -> Self {
        let first = digits.iter().position(|digit| *digit != 0).unwrap_or(digits.len());
        let last = digits
            .iter()
            .rposition(|digit| *digit != 0)
            .map_or(first, |last| last + 1);
        let trailing = i64::try_from(digits.len() - last).unwrap_or(i64::MAX);
        let digits = digits.get(first..last).unwrap_or_default().to_vec();
        if digits.is_empty() {
            return Self {
                negative: false,
                digits,
                exponent: 0,
            };
        }
        Self {
            negative,
            digits,
            exponent: exponent.saturating_add(trailing),
        }
    }

    pub(super) fn from_integer(value: i64, scale: i32) -> Self {
        let digits: Vec<u8> = value
            .unsigned_abs()
            .to_string()
            .bytes()
            .map(|byte| byte - b'0')
            .collect();
        Self::new(value < 0, &digits, scale.into())
    }

    pub(super) fn digits(&self) -> &[u8] {
        &self.digits
    }

    pub(super) fn exponent(&self) -> i64 {
        self.exponent
    }

    pub(super) fn signum(&self) -> i8 {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    /// Multiplies by `2^bits`. `bits` is at most 60.
    pub(super) fn shifted(&self, bits: u32) -> Self {
        let mut product = Vec::with_capacity(self.digits.len() + 19);
        let mut carry = 0_u128;
        for digit in self.digits.iter().rev() {
            carry += u128::from(*digit) << bits;
            product.push(last_digit(carry));
            carry /= 10;
        }
        while carry > 0 {
            product.push(last_digit(carry));
            carry /= 10;
        }
        product.reverse();
        Self::new(self.negative, &product, self.exponent)
    }

    /// Rounds away from zero to a multiple of `10^exponent`.
    pub(super) fn rounded_up(self, exponent: i64) -> Self {
        if self.exponent >= exponent || self.digits.is_empty() {
            return self;
        }
        let mut digits = self.digits;
        digits.truncate(keep(digits.len(), exponent.saturating_sub(self.exponent)));
        for digit in digits.iter_mut().rev() {
            *digit = (*digit + 1) % 10;
            if *digit != 0 {
                return Self::new(self.negative, &digits, exponent);
            }
        }
        // No digits were kept, or only nines.
        digits.insert(0, 1);
        Self::new(self.negative, &digits, exponent)
    }

    /// Returns whether the magnitude is greater than 2⁶³ − 1.
    pub(super) fn exceeds_i64(&self) -> bool {
        self.compare_magnitude(&Self::from_integer(i64::MAX, 0)) == Ordering::Greater
    }

    /// Returns whether the number is strictly between -1 and 1 and not zero.
    pub(super) fn is_fraction(&self) -> bool {
        !self.digits.is_empty() && self.magnitude() <= 0
    }

    /// Returns the number if it is an integer of at most 2⁶³ − 1 in magnitude.
    pub(super) fn to_integer(&self) -> Option<i64> {
        (self.exponent >= 0 && !self.exceeds_i64()).then(|| self.low_bits(self.exponent))
    }

    /// Returns the number in units of `10^to`, as Go's `scaledValue` does for an amount stored in billionths. `to` is
    /// greater than -9.
    pub(super) fn scaled(&self, to: i32) -> i64 {
        let billionths = self.exponent.saturating_add(9);
        let limit = Self::from_integer(i64::MAX, -9);
        // Go compares the signed amount with the largest int64, so a very large negative amount takes this branch and
        // wraps around.
        if self < &limit {
            let divisor = 10_i64.pow((to + 9).unsigned_abs());
            let whole = self.low_bits(billionths);
            return whole / divisor + i64::from(whole % divisor != 0);
        }
        let rounded = self.clone().rounded_up(to.into());
        rounded.low_bits(rounded.exponent.saturating_sub(to.into()))
    }

    /// Returns the low 64 bits of `digits × 10^zeros` with the sign, like Go's `big.Int.Int64`.
    fn low_bits(&self, zeros: i64) -> i64 {
        let digits = self
            .digits
            .iter()
            .fold(0_i64, |sum, digit| sum.wrapping_mul(10).wrapping_add((*digit).into()));
        // 10^64 is a multiple of 2^64.
        let zeros = u32::try_from(zeros.clamp(0, 64)).unwrap_or(64);
        let bits = digits.wrapping_mul(10_i64.wrapping_pow(zeros));
        if self.negative { bits.wrapping_neg() } else { bits }
    }

    /// Returns the smallest `n` for which the magnitude is less than `10^n`.
    fn magnitude(&self) -> i64 {
        self.exponent
            .saturating_add(i64::try_from(self.digits.len()).unwrap_or(i64::MAX))
    }

    fn compare_magnitude(&self, other: &Self) -> Ordering {
        match (self.digits.is_empty(), other.digits.is_empty()) {
            (false, false) => self
                .magnitude()
                .cmp(&other.magnitude())
                .then_with(|| self.digits.cmp(&other.digits)),
            (empty, other_empty) => other_empty.cmp(&empty),
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        self.signum().cmp(&other.signum()).then_with(|| match self.negative {
            true => other.compare_magnitude(self),
            false => self.compare_magnitude(other),
        })
    }
}

/// Returns how many of `length` digits remain without the last `drop`.
fn keep(length: usize, drop: i64) -> usize {
    usize::try_from(drop).map_or(0, |drop| length.saturating_sub(drop))
}

fn last_digit(number: u128) -> u8 {
    (number % 10) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(value: i64, scale: i32) -> Decimal {
        Decimal::from_integer(value, scale)
    }

    #[test]
    fn rounding_is_away_from_zero_and_carries() {
        assert_eq!(decimal(1999, -3).rounded_up(-1), decimal(2, 0));
        assert_eq!(decimal(-1001, -3).rounded_up(0), decimal(-2, 0));
        assert_eq!(decimal(1, -30).rounded_up(-9), decimal(1, -9));
        assert_eq!(decimal(999, -12).rounded_up(-9), decimal(1, -9));
    }

    #[test]
    fn shifting_multiplies_by_a_power_of_two() {
        assert_eq!(decimal(15, -1).shifted(10), decimal(1536, 0));
        assert_eq!(decimal(1, 0).shifted(60), decimal(1 << 60, 0));
    }

    #[test]
    fn an_enormous_exponent_stores_no_zeros() {
        assert_eq!(decimal(3, i32::MAX).low_bits(i64::MAX), 0);
        assert!(decimal(3, i32::MAX) > decimal(i64::MAX, 0));
    }
}
