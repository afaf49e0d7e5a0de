//! A lab on one machine: a Kubernetes API with faults on demand, a sample cluster with a load that rises and falls, the
//! services of that cluster, and a dashboard of the responses of a real Envoy.

pub mod api;
mod autoscaler;
pub mod capacity;
pub mod cluster;
pub mod curve;
mod hpa;
pub mod lab;
pub mod sample;
pub mod server;
pub mod services;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Ignores poisoning: a test that failed with the lock must not fail all others.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
