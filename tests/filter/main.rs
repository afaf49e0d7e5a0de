//! The filter on a fake Envoy.

mod host;
mod probe;
mod stories;
