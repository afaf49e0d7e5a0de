//! Counting of requests: every VM counts its own, the leader adds them up, and tells the hub or is it.

mod counter;
mod desk;
mod hub;
mod reports;
mod slots;

pub(crate) use counter::{Counter, UnderWay};
pub(crate) use desk::Desk;
pub(crate) use hub::take;

use slots::Slots;

/// Threads of a proxy that count, at most. Envoy itself runs out of memory for VMs before.
const MOST_VMS: usize = 1024;
