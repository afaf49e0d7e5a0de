//! The dashboard and the rules of `monitoring/`, with a real Prometheus that scrapes real Envoys with the filter.
//!
//! Needs `make setup` for Prometheus and the Envoys, and `cargo xtask wasm --test` for the modules.

mod alerts;
mod dashboard;
mod prometheus;
mod rules;
