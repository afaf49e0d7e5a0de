//! What stands in for the world on one machine: a Kubernetes API with faults on demand, a sample cluster whose load
//! rises and falls, the services of that cluster, and a table of what a real Envoy in front of them answers.

pub mod api;
pub mod cluster;
pub mod curve;
pub mod lab;
pub mod sample;
pub mod server;
pub mod services;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A test that failed while it held the lock must not fail every other.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
