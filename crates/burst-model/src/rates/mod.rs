//! What the proxies see of the requests to each Service: how many a second, how many of them were rejected, how many
//! are under way. Nobody else in a cluster knows it without a metrics pipeline, and of a Service at zero replicas
//! nobody but the proxy knows it at all.

mod rate;

pub use rate::{Rate, Rates, Scope};
