//! The custom and external metrics APIs, served by a real Envoy behind the aggregator of a real API server.
//!
//! These tests run the shipped files with other ports and paths: `filter-config/12-metrics-apis.yaml` and the
//! APIServices of `istio/metrics-apis/`. The filter reads the cluster through `kubectl proxy`, which a test can stop.

mod access;
mod clients;
mod differential;
mod fallback;
mod health;
mod kubectl;
mod overload;
mod pods;
mod policies;
mod reviews;
mod scaling;
mod signals;
