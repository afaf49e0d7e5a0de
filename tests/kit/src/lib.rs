//! Shared code of the integration tests and benchmarks: real programs, which the test that uses them starts and ends.
//!
//! Every call blocks, and panics with a message where a test has to fail. A failing test prints the end of the log of every
//! process that it started.
//!
//! The feature `browser` adds headless Chromium. The feature `filter` adds the proxies with the filter in them, which need the
//! stand-in cluster of burst-lab.

mod authority;
#[cfg(feature = "browser")]
pub mod browser;
mod control_plane;
mod envoy;
#[cfg(feature = "filter")]
pub mod filter;
pub mod http;
mod istiod;
#[cfg(feature = "filter")]
pub mod metrics_apis;
pub mod network_namespace;
pub mod oracle;
mod part;
pub mod port;
mod process;
mod relay;
mod seed;
mod shared;
mod traffic;
pub mod wait;

pub use authority::{Authority, Credential};
pub use control_plane::{ControlPlane, Controllers};
pub use envoy::{Envoy, EnvoyBuilder, Refused, Version, validate};
pub use istiod::{Istiod, Node};
pub use part::{Part, image, repository, wasm};
pub use process::Process;
pub use relay::Relay;
pub use seed::seed;
pub use shared::Shared;
pub use traffic::{Traffic, TrafficBuilder};
