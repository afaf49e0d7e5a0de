//! Counting of requests: every VM counts its own, the leader adds them up, and tells the hub or is it.

mod aggregator;
mod counter;
mod hub;
mod reports;
mod slots;

pub(crate) use aggregator::Aggregator;
pub(crate) use counter::{InFlightRequest, RequestCounter};
pub(crate) use hub::take;

use slots::Slots;

/// Threads of a proxy that count, at most. Envoy itself runs out of memory for VMs before.
const MOST_VMS: usize = 1024;
