//! Stabilization: an earlier recommendation applies for the length of a window.

use std::time::Duration;

use super::memory::{Recommendation, Recommendations};
use super::options::ControllerOptions;
use super::plan::Behavior;
use super::time::Time;
use crate::status::Reason;

/// The effect of earlier recommendations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stabilization {
    /// A lower recommendation in the scale-up window applies.
    Up,
    /// A higher recommendation in the scale-down window applies.
    Down,
}

impl Stabilization {
    pub(super) fn reason(self) -> Reason {
        match self {
            Self::Up => Reason::ScaleUpStabilized,
            Self::Down => Reason::ScaleDownStabilized,
        }
    }

    pub(super) fn message(self) -> &'static str {
        match self {
            Self::Up => "recent recommendations were lower than current one, applying the lowest recent recommendation",
            Self::Down => {
                "recent recommendations were higher than current one, applying the highest recent recommendation"
            }
        }
    }
}

/// Stabilizes without `behavior`. Returns the highest recommendation in the window of the controller.
pub(super) fn without_behavior(past: &mut Recommendations, proposed: i32, window: Duration, now: Time) -> i32 {
    let start = now - window;
    let recent = past.iter().filter(|past| past.at >= start).map(|past| past.replicas);
    let highest = recent.fold(proposed, i32::max);
    past.add(
        Recommendation {
            replicas: proposed,
            at: now,
        },
        |old| old.at < start,
    );
    highest
}

/// Stabilizes with `behavior`. Returns the value nearest to `current` between the lowest recommendation in the scale-up
/// window and the highest in the scale-down window.
pub(super) fn with_behavior(
    past: &mut Recommendations,
    proposed: i32,
    current: i32,
    behavior: &Behavior,
    options: &ControllerOptions,
    now: Time,
) -> i32 {
    let up_start = now - behavior.scale_up.window.unwrap_or_default();
    let down_start = now
        - behavior
            .scale_down
            .window
            .unwrap_or(whole_seconds(options.downscale_stabilization));
    let since = |start| {
        past.iter()
            .filter(move |past| past.at > start)
            .map(|past| past.replicas)
    };
    let up = since(up_start).fold(proposed, i32::min);
    let down = since(down_start).fold(proposed, i32::max);
    past.add(
        Recommendation {
            replicas: proposed,
            at: now,
        },
        |old| old.at < up_start && old.at < down_start,
    );
    current.max(up).min(down)
}

/// The setting of the controller replaces `stabilizationWindowSeconds`, which has whole seconds.
fn whole_seconds(window: Duration) -> Duration {
    Duration::from_secs(window.as_secs())
}

#[cfg(test)]
mod tests {
    use super::super::plan::Rules;
    use super::*;
    use crate::behavior::SelectPolicy;

    fn rules(window: Option<u64>) -> Rules {
        let window = window.map(Duration::from_secs);
        Rules {
            window,
            select: SelectPolicy::Max,
            policies: vec![],
            tolerance: None,
        }
    }

    fn past(entries: &[(i32, i64)]) -> Recommendations {
        let mut past = Recommendations::default();
        for (replicas, at) in entries {
            past.add(
                Recommendation {
                    replicas: *replicas,
                    at: Time::from_secs(*at),
                },
                |_| false,
            );
        }
        past
    }

    #[test]
    fn without_behavior_a_recommendation_at_the_edge_still_counts() {
        let window = Duration::from_secs(300);
        assert_eq!(
            without_behavior(&mut past(&[(9, 700)]), 3, window, Time::from_secs(1000)),
            9
        );
        assert_eq!(
            without_behavior(&mut past(&[(9, 699)]), 3, window, Time::from_secs(1000)),
            3
        );
    }

    #[test]
    fn with_behavior_a_recommendation_at_the_edge_no_longer_counts() {
        let behavior = Behavior {
            scale_up: rules(Some(60)),
            scale_down: rules(None),
        };
        // The entry at the edge stays outside the window, because the controller drops the half second.
        let options = ControllerOptions {
            downscale_stabilization: Duration::from_millis(300_500),
            ..ControllerOptions::default()
        };
        let stabilized = |entries: &[(i32, i64)], proposed| {
            let now = Time::from_secs(1000);
            with_behavior(&mut past(entries), proposed, 5, &behavior, &options, now)
        };
        assert_eq!(stabilized(&[(9, 701)], 3), 5, "no further down than the current size");
        assert_eq!(stabilized(&[(4, 701)], 3), 4);
        assert_eq!(stabilized(&[(9, 700)], 3), 3);
        assert_eq!(stabilized(&[(7, 941)], 10), 7);
        assert_eq!(stabilized(&[(7, 940)], 10), 10);
    }

    #[test]
    fn entries_outside_every_window_are_overwritten() {
        let behavior = Behavior {
            scale_up: rules(Some(10)),
            scale_down: rules(Some(20)),
        };
        let (mut plain, mut behaved) = (Recommendations::default(), Recommendations::default());
        for now in (0..1000).map(Time::from_secs) {
            without_behavior(&mut plain, 1, Duration::from_secs(20), now);
            with_behavior(&mut behaved, 1, 1, &behavior, &ControllerOptions::default(), now);
        }
        assert_eq!((plain.iter().count(), behaved.iter().count()), (21, 21));
    }
}
