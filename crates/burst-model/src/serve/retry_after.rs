//! When clients of a Service that cannot grow may come back, for the header `Retry-After`.
//! <https://www.rfc-editor.org/rfc/rfc9110#field.retry-after>

use super::FreshNumbers;
use crate::config::RetryAfterConfig;
use crate::load::Load;
use crate::signals::ScalingState;

/// The name of the header, in lower case, as Envoy stores it.
pub const RETRY_AFTER_HEADER: &str = "retry-after";

/// Returns whether a response with this status asks clients to come back later.
#[must_use]
pub fn is_refusal(status: &[u8]) -> bool {
    [&b"503"[..], b"429"].contains(&status)
}

/// The delays that the clients of a Service get, in seconds. Each client gets one between the shortest and the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryDelays {
    shortest: u32,
    longest: u32,
}

impl RetryDelays {
    /// The delays of a Service, if its HPA wants more replicas than its maximum.
    ///
    /// No client may come back before the HPA can have all of its replicas. From then on they come back spread over a time in
    /// proportion to the excess.
    pub(super) fn new(config: &RetryAfterConfig, numbers: FreshNumbers) -> Option<Self> {
        let FreshNumbers { load, signals } = numbers;
        if signals.state != Some(ScalingState::Limited) {
            return None;
        }
        let [min, max] = [config.min, config.max].map(|delay| u32::try_from(delay.as_secs()).unwrap_or(u32::MAX));
        let shortest = min.saturating_mul(syncs_to_maximum(load)).min(max / 2);
        let spread = u64::from(min) * u64::from(signals.demand.unwrap_or_default()) / u64::from(load.max.max(1));
        let spread = u32::try_from(spread).unwrap_or(u32::MAX).max(min);
        Some(Self {
            shortest,
            longest: shortest.saturating_add(spread).min(max),
        })
    }

    /// The delay of a client in seconds. `chance`, any 32 random bits, decides which.
    #[must_use]
    pub fn seconds(self, chance: u32) -> u32 {
        let choices = u64::from(self.longest - self.shortest) + 1;
        let chosen = (choices * u64::from(chance)) >> u32::BITS;
        self.shortest.saturating_add(u32::try_from(chosen).unwrap_or_default())
    }
}

/// How many syncs of the HPA controller add the replicas up to the maximum, by the default policies of `behavior.scaleUp`: in each
/// sync twice as many replicas, or four more. At least one.
/// <https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#default-behavior>
fn syncs_to_maximum(load: Load) -> u32 {
    let grown = |replicas: &u32| Some(replicas.saturating_mul(2).max(replicas.saturating_add(4)));
    let syncs = std::iter::successors(Some(load.current), grown).take_while(|replicas| *replicas < load.max);
    u32::try_from(syncs.count()).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::Signals;
    use proptest::prelude::*;
    use std::time::Duration;

    const CONFIG: RetryAfterConfig = RetryAfterConfig {
        min: Duration::from_secs(15),
        max: Duration::from_secs(60),
        dry_run: false,
    };

    fn numbers(current: u32, max: u32, demand: Option<u32>, state: Option<ScalingState>) -> FreshNumbers {
        FreshNumbers {
            load: Load {
                current,
                target: max,
                max,
            },
            signals: Signals {
                ready: None,
                demand,
                state,
            },
        }
    }

    #[test]
    fn the_delays_grow_with_the_syncs_and_with_the_excess() {
        for (current, max, demand, shortest, longest) in [
            // At the maximum.
            (10, 10, Some(11), 15, 31),
            (10, 10, Some(20), 15, 45),
            (10, 10, Some(30), 15, 60),
            (10, 10, Some(u32::MAX), 15, 60),
            // The excess is not known, or the conditions of the HPA are older than its metrics.
            (10, 10, None, 15, 30),
            (10, 10, Some(5), 15, 30),
            // Above the maximum, which was lowered.
            (12, 10, Some(20), 15, 45),
            // One sync, two, three.
            (5, 10, Some(20), 15, 45),
            (4, 10, Some(20), 30, 60),
            (1, 10, Some(20), 30, 60),
            (1, 100, Some(200), 30, 60),
            (0, u32::MAX, None, 30, 45),
        ] {
            let limited = numbers(current, max, demand, Some(ScalingState::Limited));
            assert_eq!(
                RetryDelays::new(&CONFIG, limited),
                Some(RetryDelays { shortest, longest }),
                "{current} of {max}, demand {demand:?}"
            );
        }
    }

    #[test]
    fn only_a_limited_service_has_delays() {
        let others = ScalingState::ALL
            .into_iter()
            .filter(|state| *state != ScalingState::Limited);
        for state in others.map(Some).chain([None]) {
            let full = numbers(10, 10, Some(20), state);
            assert_eq!(RetryDelays::new(&CONFIG, full), None, "{state:?}");
        }
    }

    #[test]
    fn each_second_between_the_shortest_and_the_longest_is_as_likely() {
        let delays = RetryDelays {
            shortest: 15,
            longest: 18,
        };
        let quarters = [0, 1 << 30, 2 << 30, 3 << 30, u32::MAX].map(|chance| delays.seconds(chance));
        assert_eq!(quarters, [15, 16, 17, 18, 18]);
    }

    #[test]
    fn a_refusal_is_503_or_429() {
        let refused = [&b"503"[..], b"429", b"200", b"500", b"5030", b""].map(is_refusal);
        assert_eq!(refused, [true, true, false, false, false, false]);
    }

    proptest! {
        #[test]
        fn a_delay_is_between_min_and_max_and_never_the_same_for_all(
            current: u32, max: u32, demand: Option<u32>, min in 1_u32..1000, times in 2_u32..1000, chance: u32,
        ) {
            let config = RetryAfterConfig {
                min: Duration::from_secs(min.into()),
                max: Duration::from_secs((min * times).into()),
                dry_run: false,
            };
            let limited = numbers(current, max, demand, Some(ScalingState::Limited));
            let delays = RetryDelays::new(&config, limited).unwrap();
            prop_assert!((min..=min * times).contains(&delays.seconds(chance)));
            prop_assert!(delays.longest - delays.shortest >= min, "{delays:?}");
        }
    }
}
