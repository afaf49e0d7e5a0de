//! Computes the three numbers of the header from the replicas of an HPA.

use std::fmt;

/// The load of a workload or Service, in replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Load {
    /// `status.currentReplicas`.
    pub current: u32,
    /// The load that callers should aim for: a percentage of `max`.
    pub target: u32,
    /// `spec.maxReplicas`: the burst capacity.
    pub max: u32,
}

impl Load {
    /// Creates the load for `current` of `max` replicas. The target is `percent` of the maximum, rounded down; if that is 0, it is
    /// the maximum, because a target of 0 would turn all callers away.
    #[must_use]
    pub fn new(current: u32, max: u32, percent: Percent) -> Self {
        let target = u64::from(max) * u64::from(percent.0) / 100;
        let target = u32::try_from(target).unwrap_or(u32::MAX);
        Self {
            current,
            target: if target == 0 { max } else { target },
            max,
        }
    }

    /// The replicas that can still be added: the maximum minus the current ones, and 0 above the maximum.
    #[must_use]
    pub fn headroom(self) -> u32 {
        self.max.saturating_sub(self.current)
    }

    /// The current replicas in thousandths of the maximum, rounded down. `None` if the maximum is 0.
    #[must_use]
    pub fn utilization_milli(self) -> Option<u64> {
        (u64::from(self.current) * 1000).checked_div(self.max.into())
    }
}

/// A percentage from 1 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Percent(u8);

impl Percent {
    /// The number.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// Creates a percentage; `None` if it is not between 1 and 100.
    #[must_use]
    pub const fn new(percent: u8) -> Option<Self> {
        if percent >= 1 && percent <= 100 {
            Some(Self(percent))
        } else {
            None
        }
    }

    /// Returns whether `count` is at least this percentage of `maximum`.
    #[must_use]
    pub fn is_reached(self, count: u32, maximum: u32) -> bool {
        u64::from(count) * 100 >= u64::from(maximum) * u64::from(self.0)
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_is_rounded_down_and_never_0() {
        let eighty = Percent::new(80).unwrap();
        for (max, target) in [
            (1, 1),
            (2, 1),
            (3, 2),
            (4, 3),
            (5, 4),
            (6, 4),
            (10, 8),
            (u32::MAX, 3_435_973_836),
        ] {
            assert_eq!(Load::new(0, max, eighty).target, target, "max {max}");
        }
    }

    #[test]
    fn a_percentage_is_reached_exactly() {
        let ninety = Percent::new(90).unwrap();
        for (count, maximum, is_reached) in [
            (8, 10, false),
            (9, 10, true),
            (4, 5, false),
            (5, 5, true),
            (12, 10, true),
            (u32::MAX, u32::MAX, true),
            (3_865_470_564, u32::MAX, false),
        ] {
            assert_eq!(ninety.is_reached(count, maximum), is_reached, "{count} of {maximum}");
        }
    }

    #[test]
    fn a_percentage_lies_between_1_and_100() {
        assert_eq!(
            [0, 1, 100, 101].map(|n| Percent::new(n).is_some()),
            [false, true, true, false]
        );
    }
}
