//! Computes the three numbers of the header from the replicas of an HPA.

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    fn a_percentage_lies_between_1_and_100() {
        assert_eq!(
            [0, 1, 100, 101].map(|n| Percent::new(n).is_some()),
            [false, true, true, false]
        );
    }
}
