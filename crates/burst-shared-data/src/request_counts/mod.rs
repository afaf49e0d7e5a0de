//! Counted requests in shared data: every VM publishes its own counts, the leader adds them up, and a hub adds up what
//! proxies report.

mod aggregator;
mod counter;
mod report_endpoint;
mod report_store;

pub use aggregator::{Aggregation, Aggregator, HubAggregation, HubReport};
pub use counter::{InFlightRequest, RequestCounter};
pub use report_endpoint::{ReportRefusal, ReportRequest, accept_report, accepted};
pub use report_store::{ReportStore, ReportStoreSummary};

use burst_model::time::Time;
use std::time::Duration;

/// The VMs of a proxy that can count. Envoy runs out of memory before there are so many.
const MAX_VMS: usize = 1024;

/// Whether `interval` has passed since `last`. A time in the future means that the clock was set back, and is due too.
fn is_due(last: Option<Time>, interval: Duration, now: Time) -> bool {
    last.is_none_or(|last| now >= last.after(interval) || now < last)
}
