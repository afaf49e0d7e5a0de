//! The state that one sync passes to the next.

use super::memory::Memory;
use super::status::SimulatedStatus;

/// The state of an autoscaler before a sync: the status that the controller wrote, and its memory.
///
/// `default()` is the state before the first sync.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// `status`, which the cluster stores.
    pub status: SimulatedStatus,
    pub(super) memory: Memory,
}

impl State {
    /// Creates the state of a controller that has just started and reads this status.
    #[must_use]
    pub fn restarted(status: SimulatedStatus) -> Self {
        Self {
            status,
            memory: Memory::default(),
        }
    }
}
