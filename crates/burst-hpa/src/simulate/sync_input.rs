//! The input of one sync for the proposals of its metrics.

use super::observation::{Observation, Scale};
use super::options::Options;
use super::plan::Plan;
use super::time::Time;

/// The input that all metrics of one sync share.
#[derive(Clone, Copy)]
pub(super) struct SyncInput<'a> {
    pub(super) plan: &'a Plan,
    pub(super) seen: &'a Observation,
    pub(super) scale: &'a Scale,
    pub(super) options: &'a Options,
    pub(super) now: Time,
}
