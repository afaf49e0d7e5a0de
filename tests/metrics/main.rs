//! The custom and the external metrics API, served by a real Envoy behind the aggregator of a real API server.
//!
//! What runs here is what ships: `filter-config/12-metrics-apis.yaml` and the APIServices of `istio/metrics-apis/`, with
//! other ports and paths. The filter reads the cluster by `kubectl proxy`, which a test can take away from it.

mod access;
mod clients;
mod differential;
mod fallback;
mod health;
mod kubectl;
mod overload;
mod policies;
mod reviews;
mod scaling;
