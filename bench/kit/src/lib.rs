//! What the benchmarks share. They are programs, so everything here panics with a message when it cannot go on.

#[cfg(feature = "envoy")]
pub mod cpu_bursts;
#[cfg(feature = "envoy")]
pub mod fixture_cluster;
#[cfg(feature = "envoy")]
pub mod process;
#[cfg(feature = "envoy")]
pub mod proxy;
mod table;

#[cfg(feature = "envoy")]
pub use fixture_cluster::Crowd;
pub use table::Table;
