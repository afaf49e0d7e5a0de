//! Code that the benchmarks share. They are programs, so a function here panics with a message when it fails.

#[cfg(feature = "envoy")]
mod backends;
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
pub use backends::Backends;
#[cfg(feature = "envoy")]
pub use fixture_cluster::FixtureCluster;
pub use table::Table;
