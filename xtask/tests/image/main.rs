//! The output of `cargo xtask image`, used as its users do. Needs `make setup` and `cargo xtask image`.

mod agent;
mod registry;
mod release;
mod reproducible;
mod sbom;
mod workflows;

/// The names of the filters.
const FILTERS: [&str; 2] = ["burst-metrics", "burst-metrics-header"];
