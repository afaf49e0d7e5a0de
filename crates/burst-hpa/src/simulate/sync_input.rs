//! The input of one sync for the proposals of its metrics.

use super::observation::{Observation, Scale};
use super::options::ControllerOptions;
use super::plan::Plan;
use super::time::Time;

/// The input that all metrics of one sync share.
#[derive(Clone, Copy)]
pub(super) struct SyncInput<'a> {
    pub(super) plan: &'a Plan,
    pub(super) seen: &'a Observation,
    pub(super) scale: &'a Scale,
    pub(super) options: &'a ControllerOptions,
    pub(super) now: Time,
}
