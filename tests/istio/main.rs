//! The sets of `istio/` in a real mesh: kubectl applies them to a real API server, a real istiod turns them into xDS,
//! and a real Envoy runs them, which identifies itself as a gateway or a sidecar.
//!
//! `shipped.rs` changes only the location of the module, the API server and the token.

mod certificates;
mod hbone;
mod helm;
mod mesh;
mod sds;
mod shipped;
mod shop;

mod chart;
mod chart_release;
mod chart_values;
mod deploy;
mod envoy_gateway;
mod forms;
mod gate;
mod gateway;
mod interception;
mod metrics_apis;
mod names;
mod network_policies;
mod overflow;
mod own_gateway;
mod passthrough;
mod rendered;
mod routes;
mod scripts;
mod sidecar;
mod streaming;
mod upgrade;
mod waypoint;
