//! A load that rises and falls, as a pure function of time.

use std::f64::consts::{PI, TAU};
use std::time::Duration;

/// A sine between `min` and `max` replicas that starts at `start`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve {
    /// The lowest value.
    pub min: u32,
    /// The highest value.
    pub max: u32,
    /// The value at time zero; limited to `min` and `max`.
    pub start: u32,
    /// The time from one peak to the next.
    pub period: Duration,
    /// Whether it rises at time zero.
    pub rising: bool,
}

impl Curve {
    /// The load at a time, from 0 (lowest) to 1 (highest).
    pub fn level(&self, elapsed: Duration) -> f64 {
        let turn = TAU * elapsed.as_secs_f64() / self.period.as_secs_f64();
        (1.0 + (self.phase() + turn).sin()) / 2.0
    }

    /// The replicas at a time.
    pub fn replicas(&self, elapsed: Duration) -> u32 {
        let span = f64::from(self.max.saturating_sub(self.min));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and a difference of u32s"
        )]
        let above = (self.level(elapsed) * span).round() as u32;
        self.min + above
    }

    fn phase(&self) -> f64 {
        let span = f64::from(self.max.saturating_sub(self.min)).max(1.0);
        let start = f64::from(self.start.saturating_sub(self.min)) / span;
        let rising = (2.0 * start.min(1.0) - 1.0).asin();
        if self.rising { rising } else { PI - rising }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CURVE: Curve = Curve {
        min: 1,
        max: 5,
        start: 2,
        period: Duration::from_secs(60),
        rising: true,
    };

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn a_curve_begins_at_its_start_and_comes_back_to_it() {
        for start in 1..=5 {
            for rising in [true, false] {
                let curve = Curve { start, rising, ..CURVE };
                assert_eq!(
                    (curve.replicas(seconds(0)), curve.replicas(seconds(60))),
                    (start, start),
                    "{curve:?}"
                );
            }
        }
    }

    #[test]
    fn a_curve_reaches_both_ends_and_stays_between_them() {
        let values: Vec<u32> = (0..60).map(|n| CURVE.replicas(seconds(n))).collect();
        assert_eq!((values.iter().min(), values.iter().max()), (Some(&1), Some(&5)));
        assert!((0..60).all(|n| (0.0..=1.0).contains(&CURVE.level(seconds(n)))));
    }

    #[test]
    fn a_curve_starts_in_its_direction() {
        assert!(CURVE.level(seconds(5)) > CURVE.level(seconds(0)));
        let falling = Curve { rising: false, ..CURVE };
        assert!(falling.level(seconds(5)) < falling.level(seconds(0)));
    }

    #[test]
    fn a_range_of_one_value_is_constant() {
        let fixed = Curve {
            min: 3,
            max: 3,
            start: 3,
            ..CURVE
        };
        assert!((0..60).all(|n| fixed.replicas(seconds(n)) == 3));
    }
}
