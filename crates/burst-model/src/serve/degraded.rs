//! Whether a Service is full, for the header `x-envoy-degraded`: two marks on its load, and a time for which it stays full, or not
//! full, at least. Each VM keeps the states of its own responses.
//! <https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/load_balancing/degraded>

use super::FreshNumbers;
use crate::config::DegradedConfig;
use crate::time::Time;
use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

/// The header by which Envoy knows a degraded host. Envoy asks only whether it is there.
pub const DEGRADED_HEADER: &str = "x-envoy-degraded";

/// The most Services whose states are kept: all in the largest snapshot that the filter is tested with. The memory of a VM never
/// shrinks.
const MAX_STATES: usize = 20_000;

/// The state of a Service as the last response found it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// It is not full, and may become full at once.
    #[default]
    Normal,
    /// It is full.
    Degraded { since: Time },
    /// It was full.
    Recovered { since: Time },
}

/// The load of a Service at its last read, compared with the marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// The numbers are stale or not known.
    Unknown,
    /// Below `leave`.
    Low,
    /// Between the marks.
    Middle,
    /// At `enter`, or above.
    High,
}

/// What a response is told of its Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Whether the Service is full.
    pub is_degraded: bool,
    /// What this response has changed.
    pub change: Option<DegradedChange>,
}

/// A change of the state of a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DegradedChange {
    /// It is full now.
    Entered,
    /// It is no longer full.
    Left,
    /// It was full, and whether it still is is not known.
    Lost,
}

/// A Service whose responses may say that it is full.
#[derive(Debug)]
pub struct Degradation {
    level: Level,
    state: Rc<Cell<State>>,
}

/// The states of the Services. They outlast the reads of the cluster.
#[derive(Debug, Default)]
pub(super) struct DegradedStates(HashMap<Box<str>, Rc<Cell<State>>>);

impl Level {
    /// The demand compares best: it does not wait for new replicas, and falls as soon as callers go elsewhere. If it is not known,
    /// the current replicas count.
    fn new(config: &DegradedConfig, numbers: Option<FreshNumbers>) -> Self {
        let Some(FreshNumbers { load, signals }) = numbers.filter(|numbers| numbers.load.max > 0) else {
            return Self::Unknown;
        };
        let count = signals.demand.unwrap_or(load.current);
        if config.enter.is_reached(count, load.max) {
            Self::High
        } else if config.leave.is_reached(count, load.max) {
            Self::Middle
        } else {
            Self::Low
        }
    }
}

impl State {
    fn next(self, level: Level, hold: Duration, now: Time) -> Self {
        // A state from the future is one from before the clock was set back.
        let has_lasted = |since: Time| now.since(since) >= hold;
        match (self, level) {
            (Self::Normal, Level::High) => Self::Degraded { since: now },
            (Self::Normal, _) => Self::Normal,
            (Self::Degraded { .. }, Level::Unknown) => Self::Recovered { since: now },
            (Self::Degraded { since }, Level::Low) if has_lasted(since) => Self::Recovered { since: now },
            (Self::Degraded { since }, _) => Self::Degraded { since: since.min(now) },
            (Self::Recovered { since }, Level::High) if has_lasted(since) => Self::Degraded { since: now },
            (Self::Recovered { since }, _) if has_lasted(since) => Self::Normal,
            (Self::Recovered { since }, _) => Self::Recovered { since: since.min(now) },
        }
    }

    fn is_degraded(self) -> bool {
        matches!(self, Self::Degraded { .. })
    }
}

impl Degradation {
    /// Updates the state for a response at `now`, which is only asked for if the state depends on the time.
    pub fn observe(&self, hold: Duration, now: impl FnOnce() -> Time) -> Observation {
        let before = self.state.get();
        if before == State::Normal && self.level != Level::High {
            return Observation {
                is_degraded: false,
                change: None,
            };
        }
        let after = before.next(self.level, hold, now());
        self.state.set(after);
        Observation {
            is_degraded: after.is_degraded(),
            change: match (before.is_degraded(), after.is_degraded()) {
                (false, true) => Some(DegradedChange::Entered),
                (true, false) if self.level == Level::Unknown => Some(DegradedChange::Lost),
                (true, false) => Some(DegradedChange::Left),
                (false, false) | (true, true) => None,
            },
        }
    }
}

impl DegradedStates {
    /// The state of a Service or workload, by the name of its row, with the load that it has now.
    pub(super) fn degradation(
        &mut self,
        config: &DegradedConfig,
        row: String,
        numbers: Option<FreshNumbers>,
    ) -> Degradation {
        if self.0.len() >= MAX_STATES && !self.0.contains_key(row.as_str()) {
            self.0.retain(|_, state| state.get() != State::Normal);
            if self.0.len() >= MAX_STATES {
                self.0.clear();
            }
        }
        let state = self.0.entry(row.into()).or_default();
        Degradation {
            level: Level::new(config, numbers),
            state: state.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
