//! The signals of a row as three numbers: the ready replicas, the demand, and which of them are known.

use crate::signals::{ScalingState, Signals};

const READY: u32 = 1;
const DEMAND: u32 = 1 << 1;
/// The bit from which the number of the state begins.
const STATE: u32 = 8;

pub(super) fn encode(signals: Signals) -> [u32; 3] {
    let Signals { ready, demand, state } = signals;
    let flag = |count: Option<u32>, flag| count.map_or(0, |_| flag);
    let flags = flag(ready, READY) | flag(demand, DEMAND) | number(state) << STATE;
    [ready.unwrap_or_default(), demand.unwrap_or_default(), flags]
}

/// A number of a state that does not exist is no state.
pub(super) fn decode([ready, demand, flags]: [u32; 3]) -> Signals {
    Signals {
        ready: (flags & READY > 0).then_some(ready),
        demand: (flags & DEMAND > 0).then_some(demand),
        state: ScalingState::ALL
            .into_iter()
            .find(|state| number(Some(*state)) == flags >> STATE),
    }
}

fn number(state: Option<ScalingState>) -> u32 {
    match state {
        None => 0,
        Some(ScalingState::Ok) => 1,
        Some(ScalingState::Fixed) => 2,
        Some(ScalingState::Scaling) => 3,
        Some(ScalingState::Unknown) => 4,
        Some(ScalingState::Limited) => 5,
        Some(ScalingState::Blocked) => 6,
    }
}
