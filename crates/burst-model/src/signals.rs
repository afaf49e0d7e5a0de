//! The signals of a row: what its HPA and its workload say besides the load. Only those that the configuration names are known.

pub use crate::kube::signal::{ScalingState, Signal, SignalSet};

/// The signals of a row. Each is `None` if it is not known, or if the configuration does not name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Signals {
    /// The ready replicas.
    pub ready: Option<u32>,
    /// The replicas that the metrics ask for, whatever the maximum is.
    pub demand: Option<u32>,
    /// What the HPA can do.
    pub state: Option<ScalingState>,
}

impl Signals {
    /// The signals of a set. All others are `None`.
    #[must_use]
    pub fn only(self, set: SignalSet) -> Self {
        Self {
            ready: self.ready.filter(|_| set.contains(Signal::Ready)),
            demand: self.demand.filter(|_| set.contains(Signal::Demand)),
            state: self.state.filter(|_| set.contains(Signal::State)),
        }
    }

    /// The signals of several workloads behind one Service: the sum of their replicas, unless one of them is not known, and the
    /// state of the highest precedence.
    #[must_use]
    pub fn sum(all: &(impl Iterator<Item = Self> + Clone)) -> Self {
        let sum = |field: fn(Self) -> Option<u32>| {
            let mut counts = all.clone().map(field);
            counts.try_fold(0_u32, |sum, count| Some(sum.saturating_add(count?)))
        };
        Self {
            ready: sum(|signals| signals.ready),
            demand: sum(|signals| signals.demand),
            state: all.clone().filter_map(|signals| signals.state).max(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn signals(ready: Option<u32>, demand: Option<u32>, state: Option<ScalingState>) -> Signals {
        Signals { ready, demand, state }
    }

    #[test]
    fn several_workloads_have_the_sum_of_what_is_known_of_all_and_the_worst_state() {
        for (all, sum) in [
            (
                vec![
                    signals(Some(1), Some(2), Some(ScalingState::Limited)),
                    signals(Some(3), Some(9), Some(ScalingState::Fixed)),
                ],
                signals(Some(4), Some(11), Some(ScalingState::Limited)),
            ),
            (
                vec![
                    signals(Some(1), None, Some(ScalingState::Blocked)),
                    signals(None, Some(9), Some(ScalingState::Limited)),
                ],
                signals(None, None, Some(ScalingState::Blocked)),
            ),
            (
                vec![signals(Some(u32::MAX), None, None), signals(Some(1), None, None)],
                signals(Some(u32::MAX), None, None),
            ),
        ] {
            assert_eq!(Signals::sum(&all.iter().copied()), sum, "{all:?}");
        }
    }

    #[test]
    fn only_the_signals_of_a_set_are_left() {
        let all = signals(Some(1), Some(2), Some(ScalingState::Ok));
        assert_eq!(all.only(SignalSet::ALL), all);
        assert_eq!(all.only(SignalSet::default()), Signals::default());
        for (signal, left) in [
            (Signal::Ready, signals(Some(1), None, None)),
            (Signal::Demand, signals(None, Some(2), None)),
            (Signal::State, signals(None, None, Some(ScalingState::Ok))),
        ] {
            assert_eq!(all.only([signal].into_iter().collect()), left);
        }
    }
}
