//! Counting requests: every VM counts its own, the leader adds the counts up, and a hub adds up what proxies report.

mod aggregator;
mod counter;
mod hub;

pub(crate) use aggregator::Aggregator;
pub(crate) use counter::{InFlightRequest, RequestCounter};
pub(crate) use hub::answer_report;

use burst_model::time::Time;
use std::time::Duration;

/// The VMs of a proxy that can count. Envoy runs out of memory before there are so many.
const MAX_VMS: usize = 1024;

/// Whether `interval` has passed since `last`. A time in the future means that the clock was set back, and is due too.
fn is_due(last: Option<Time>, interval: Duration, now: Time) -> bool {
    last.is_none_or(|last| now >= last.after(interval) || now < last)
}
