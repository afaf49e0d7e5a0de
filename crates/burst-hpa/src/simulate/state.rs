//! What one sync leaves for the next.

use super::memory::Memory;
use super::status::Status;

/// All that the controller knows of an autoscaler besides what it reads in a sync: the status it wrote and its memory.
///
/// `default()` is an autoscaler that no controller has looked at yet.
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
