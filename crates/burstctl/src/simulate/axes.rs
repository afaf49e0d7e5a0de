//! The axes of the plots: how high they are, and where their labels stand.

use super::timeline::Timeline;

/// Distances between labels of the time, in seconds.
const TIME_STEPS: [u32; 18] = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400,
];

/// The limits of a plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axes {
    /// The replicas at the top.
    pub(super) top: i32,
    /// `spec.minReplicas`, or the default.
    pub(super) min: i32,
    /// `spec.maxReplicas`.
    pub(super) max: i32,
    /// Whether a load needs more replicas than the top.
    pub(super) is_cut: bool,
}

impl Axes {
    /// Returns the axes for a timeline. The top is the highest number that occurs, and maxReplicas if it is near.
    pub(super) fn of(timeline: &Timeline, min: i32, max: i32) -> Self {
        let peak = |value: fn(&super::timeline::Span) -> i32| timeline.spans().iter().map(value).max().unwrap_or(0);
        let ready = peak(|span| span.ready);
        let needed = peak(|span| span.demand.map_or(0, |demand| demand.replicas));
        // A need far above the limit would flatten everything else.
        let limit = max.max(1).saturating_mul(2).max(ready);
        let highest = ready.max(needed.min(limit)).max(min).max(1);
        let top = if max <= highest.saturating_mul(2) {
            highest.max(max)
        } else {
            highest
        };
        Self {
            top,
            min,
            max,
            is_cut: needed > top,
        }
    }

    /// Returns the replicas that get a label, from 0 to the top, at most `count` and those of the limits.
    pub(super) fn replica_labels(self, count: i32) -> Vec<i32> {
        let step = (0..10)
            .flat_map(|power| [1, 2, 5].map(|digit| 10_i32.saturating_pow(power).saturating_mul(digit)))
            .find(|step| self.top / step <= count)
            .unwrap_or(i32::MAX);
        let steps = usize::try_from(step).unwrap_or(usize::MAX);
        (0..=self.top).step_by(steps).collect()
    }
}

/// Returns the seconds that get a label, at most `count` of them.
pub(super) fn time_labels((start, end): (u32, u32), count: u32) -> Vec<u32> {
    let length = end.saturating_sub(start);
    let step = TIME_STEPS
        .into_iter()
        .find(|step| length / step < count.max(1))
        .unwrap_or(86_400 * 7);
    let first = start.div_ceil(step).saturating_mul(step);
    (first..=end)
        .step_by(usize::try_from(step).unwrap_or(usize::MAX))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::timeline::tests::timeline;
    use super::*;

    #[test]
    fn the_top_is_what_occurs_and_a_limit_that_is_near() {
        let axes = |needed: i32, ready: i32, max: i32| Axes::of(&timeline(&[(5, Some(needed), ready, ready)]), 1, max);
        assert_eq!((axes(9, 8, 12).top, axes(9, 8, 100).top), (12, 9));
        let cut = axes(1000, 12, 12);
        assert_eq!((cut.top, cut.is_cut), (24, true));
        assert_eq!(axes(0, 0, 0).top, 1);
    }

    #[test]
    fn labels_are_round_numbers() {
        let labels = |top: i32| {
            Axes {
                top,
                min: 1,
                max: top,
                is_cut: false,
            }
            .replica_labels(5)
        };
        assert_eq!(labels(5), [0, 1, 2, 3, 4, 5]);
        assert_eq!(labels(24), [0, 5, 10, 15, 20]);
        assert_eq!(labels(5000), [0, 1000, 2000, 3000, 4000, 5000]);
        assert_eq!(time_labels((0, 900), 5), [0, 300, 600, 900]);
        assert_eq!(
            time_labels((0, 86_400), 9),
            [0, 10_800, 21_600, 32_400, 43_200, 54_000, 64_800, 75_600, 86_400]
        );
        assert_eq!(time_labels((7, 8), 8), [7, 8]);
    }
}
