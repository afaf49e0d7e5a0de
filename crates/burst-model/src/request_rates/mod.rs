//! What the proxies see of the requests to each Service: how many a second, how many of them were rejected, how many
//! are under way. Nobody else in a cluster knows it without a metrics pipeline, and of a Service at zero replicas
//! nobody but the proxy knows it at all.
//!
//! ```text
//! response ─▶ meter of the VM ─▶ its share ─▶ sum of the proxy ═▶ (the shell: a report) ═▶ sum of the hub ─▶ rates
//! ```
//!
//! A share holds counts and the time they were counted over, so shares add up, and become rates at the very end.

#[cfg(test)]
mod any;
mod count;
mod hub_tally;
mod latest;
mod meter;
mod rate;
pub mod report;
pub mod report_index;
mod tally;
mod tally_sum;
mod text;
mod window;

pub use count::{RequestCounts, is_rejected};
pub use hub_tally::{HubTally, ReportSettings};
pub use latest::LatestRates;
pub use meter::{Meter, MeterSlot};
pub use rate::{CountingSettings, RateScope, RateSums, Rates, ServiceRate};
pub use tally::{MOST_SERVICES, Tally};
pub use tally_sum::TallySum;
pub use text::{InvalidTally, LONGEST, id};
pub use window::SlidingWindow;
