//! Go's conversion of floats to integers.
//!
//! In Go, the result of an out-of-range conversion depends on the processor. This module follows amd64, which returns the
//! smallest integer; arm64 returns the nearest one. As a result, an out-of-range proposal counts as no proposal.

#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
pub(super) fn int32(x: f64) -> i32 {
    if x > f64::from(i32::MIN) - 1.0 && x < f64::from(i32::MAX) + 1.0 {
        x as i32
    } else {
        i32::MIN
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
pub(super) fn int64(x: f64) -> i64 {
    if x >= i64::MIN as f64 && x < i64::MAX as f64 {
        x as i64
    } else {
        i64::MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_of_range_floats_become_the_smallest_integer() {
        for (x, expected) in [
            (2.9, 2),
            (-2.9, -2),
            (2_147_483_647.5, i32::MAX),
            (2_147_483_648.0, i32::MIN),
            (-2_147_483_648.5, i32::MIN),
            (f64::NAN, i32::MIN),
            (f64::INFINITY, i32::MIN),
        ] {
            assert_eq!(int32(x), expected, "{x}");
        }
        for (x, expected) in [
            (1e18, 1_000_000_000_000_000_000),
            (1e19, i64::MIN),
            (f64::NAN, i64::MIN),
        ] {
            assert_eq!(int64(x), expected, "{x}");
        }
    }
}
