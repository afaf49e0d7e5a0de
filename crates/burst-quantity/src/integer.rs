//! The arithmetic of Go's `int64Amount`. It rounds away from zero. A result that overflows wraps around or is 0.

/// Returns `value × 10^scale` in units of `10^to`.
pub(super) fn scaled(value: i64, scale: i32, to: i32) -> i64 {
    let shift = i64::from(scale) - i64::from(to);
    if shift < 0 {
        divided(value, shift.unsigned_abs())
    } else {
        multiplied(value, shift.unsigned_abs())
    }
}

fn multiplied(value: i64, zeros: u64) -> i64 {
    let factor = power_of_ten(zeros);
    match zeros {
        // Go has a fast path for these factors, and its callers ignore the overflow.
        1..=3 | 6 | 9 => factor.map_or(0, |factor| value.wrapping_mul(factor)),
        _ => factor.and_then(|factor| value.checked_mul(factor)).unwrap_or(0),
    }
}

fn divided(value: i64, digits: u64) -> i64 {
    match power_of_ten(digits) {
        Some(divisor) if value % divisor == 0 => value / divisor,
        Some(divisor) => value / divisor + value.signum(),
        None => value.signum(),
    }
}

fn power_of_ten(exponent: u64) -> Option<i64> {
    10_i64.checked_pow(u32::try_from(exponent).ok()?)
}

#[cfg(test)]
mod tests {
    use super::scaled;

    #[test]
    fn a_remainder_is_rounded_away_from_zero() {
        assert_eq!(
            [
                scaled(11, -1, 0),
                scaled(-11, -1, 0),
                scaled(20, -1, 0),
                scaled(7, -40, 0)
            ],
            [2, -2, 2, 1]
        );
    }

    #[test]
    fn an_overflow_wraps_around_or_is_zero_as_in_go() {
        assert_eq!(scaled(i64::MAX, 0, -3), i64::MAX.wrapping_mul(1000));
        assert_eq!(
            [scaled(1, 18, 0), scaled(1, 19, 0), scaled(0, i32::MAX, -3)],
            [10_i64.pow(18), 0, 0]
        );
    }
}
