//! The sets of `istio/` on a real mesh: kubectl applies them to a real API server, a real istiod turns them into xDS,
//! and a real Envoy that introduces itself as a gateway or a sidecar runs them.
//!
//! What a set is told otherwise than it ships stands in `shipped.rs`: where the module, the API server and the token are.

mod mesh;
mod shipped;
mod shop;
mod traffic;

mod envoy_gateway;
mod forms;
mod gateway;
mod interception;
mod own_gateway;
mod rendered;
mod routes;
mod sidecar;
mod upgrade;
