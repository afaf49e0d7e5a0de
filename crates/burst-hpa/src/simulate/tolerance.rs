//! How far a metric may differ from its target before the controller acts.

use super::options::ControllerOptions;
use super::plan::Plan;

/// The range around a metric's target in which the replicas do not change, as fractions of the target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// How far the range extends below the target.
    pub down: f64,
    /// How far the range extends above the target.
    pub up: f64,
}

impl Tolerance {
    /// Returns `behavior.scale{Up,Down}.tolerance` where it is set and enabled, otherwise the tolerance of the cluster.
    #[must_use]
    pub fn of(plan: &Plan, options: &ControllerOptions) -> Self {
        let behavior = plan.behavior.as_ref().filter(|_| options.configurable_tolerance);
        let cluster = options.tolerance;
        Self {
            down: behavior
                .and_then(|behavior| behavior.scale_down.tolerance)
                .unwrap_or(cluster),
            up: behavior
                .and_then(|behavior| behavior.scale_up.tolerance)
                .unwrap_or(cluster),
        }
    }

    /// Returns whether `ratio` (usage divided by target) is within the tolerance. NaN never is.
    pub(super) fn covers(self, ratio: f64) -> bool {
        (1.0 - self.down..=1.0 + self.up).contains(&ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_edges_belong_to_the_tolerance() {
        let tolerance = Tolerance { down: 0.1, up: 0.25 };
        for (ratio, covered) in [
            (0.9, true),
            (0.899, false),
            (1.25, true),
            (1.2501, false),
            (f64::NAN, false),
        ] {
            assert_eq!(tolerance.covers(ratio), covered, "{ratio}");
        }
    }
}
