//! The state that one sync passes to the next.

use super::memory::Memory;
use super::status::Status;

/// What the controller knows of an autoscaler before a sync: the status it wrote and its memory.
///
/// `default()` is an autoscaler before its first sync.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// `status`, kept in the cluster.
    pub status: Status,
    pub(super) memory: Memory,
}

impl State {
    /// The state of a controller that has just started and finds this status.
    #[must_use]
    pub fn restarted(status: Status) -> Self {
        Self {
            status,
            memory: Memory::default(),
        }
    }
}
