//! The values of a workload that are read only if the configuration names them.

use crate::only_from_strings;
use serde::{Deserialize, Serialize};

/// A value that is read, stored and served only if the configuration names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
pub enum Signal {
    /// The ready replicas.
    Ready,
    /// The replicas that the HPA would want without its maximum.
    Demand,
    /// The state of the HPA.
    State,
}

only_from_strings!(Signal);

/// A set of signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SignalSet(u8);

impl SignalSet {
    /// No signal.
    pub const NONE: Self = Self(0);

    /// All signals.
    pub const ALL: Self = Self(0b111);

    /// Returns whether the set has a signal.
    #[must_use]
    pub fn contains(self, signal: Signal) -> bool {
        self.0 & Self::bit(signal) > 0
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn bit(signal: Signal) -> u8 {
        match signal {
            Signal::Ready => 1,
            Signal::Demand => 2,
            Signal::State => 4,
        }
    }
}

impl FromIterator<Signal> for SignalSet {
    fn from_iter<T: IntoIterator<Item = Signal>>(signals: T) -> Self {
        Self(signals.into_iter().map(Self::bit).fold(0, |bits, bit| bits | bit))
    }
}

/// What an HPA can do, as one word. If several states hold, the last of this order counts; so does the last of the states of
/// several HPAs behind one Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ScalingState {
    /// The HPA has the replicas that it wants.
    Ok,
    /// The minimum equals the maximum, so the HPA never changes the replicas.
    Fixed,
    /// The desired replicas differ from the current ones.
    Scaling,
    /// The controller has not said what it can do: the status has no condition.
    Unknown,
    /// The HPA wants more replicas than its maximum.
    Limited,
    /// The HPA cannot scale: it cannot read its metrics or the scale of its target, or its target is scaled to 0.
    Blocked,
}

impl ScalingState {
    /// All states, in their order.
    pub const ALL: [Self; 6] = [
        Self::Ok,
        Self::Fixed,
        Self::Scaling,
        Self::Unknown,
        Self::Limited,
        Self::Blocked,
    ];

    /// The word in the header and in the formats.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Fixed => "fixed",
            Self::Scaling => "scaling",
            Self::Unknown => "unknown",
            Self::Limited => "limited",
            Self::Blocked => "blocked",
        }
    }

    /// The state with that word.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_the_signals_that_were_put_into_it() {
        let all = [Signal::Ready, Signal::Demand, Signal::State];
        for signal in all {
            let set: SignalSet = [signal, signal].into_iter().collect();
            assert_eq!(all.map(|other| set.contains(other)), all.map(|other| other == signal));
            assert!(!set.is_empty());
        }
        assert_eq!(all.into_iter().collect::<SignalSet>(), SignalSet::ALL);
        assert!(SignalSet::default().is_empty());
    }

    #[test]
    fn the_order_of_the_states_is_that_of_the_documentation() {
        assert!(ScalingState::ALL.is_sorted());
        let words = ScalingState::ALL.map(|state| (ScalingState::find(state.name()), state.name()));
        assert_eq!(words.map(|(found, _)| found), ScalingState::ALL.map(Some));
        assert_eq!(
            words.map(|(_, word)| word),
            ["ok", "fixed", "scaling", "unknown", "limited", "blocked"]
        );
        assert_eq!(ScalingState::find("full"), None);
    }
}
