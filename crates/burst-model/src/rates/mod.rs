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
mod hub;
mod latest;
mod meter;
mod rate;
pub mod report;
pub mod report_index;
mod share;
mod text;
mod total;
mod window;

pub use count::{Count, is_rejected};
pub use hub::{Hub, HubTotal};
pub use latest::Latest;
pub use meter::{Meter, Place};
pub use rate::{Counting, Rate, Rates, Scope, Shares};
pub use share::{MOST_SERVICES, Share};
pub use text::{BadShare, LONGEST, id};
pub use total::Total;
pub use window::Window;
