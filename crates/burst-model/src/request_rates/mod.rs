//! Request rates of each Service as the proxies see them: requests per second, rejected requests and requests in flight.
//! A cluster has these numbers only with a metrics pipeline, and for a Service at zero replicas only a proxy can count.
//!
//! ```text
//! response ─▶ meter of the VM ─▶ its tally ─▶ sum of the proxy ═▶ (the shell: a report) ═▶ sum of the hub ─▶ rates
//! ```
//!
//! A tally holds counts and the time that they cover, so tallies can be added. The sum is turned into rates at the end.

mod address_meter;
#[cfg(test)]
mod arbitrary;
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

pub use address_meter::{AddressMeter, MAX_ADDRESSES};
pub use count::{RequestCounts, is_rejected};
pub use hub_tally::{HubTally, ReportSettings};
pub use latest::LatestRates;
pub use meter::{Meter, MeterSlot};
pub use rate::{CountingSettings, RateScope, RateSums, Rates, ServiceRate};
pub use tally::{MAX_SERVICES, Tally};
pub use tally_sum::TallySum;
pub use text::{InvalidTally, MAX_REPORT_BYTES, id_of};
pub use window::SlidingWindow;
