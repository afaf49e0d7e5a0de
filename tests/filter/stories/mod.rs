//! What the filter does, told on the fake host.

mod configuration;
mod endpoints;
mod failures;
mod fallback;
mod header;
mod hub;
mod kube;
mod lease;
mod metrics_apis;
mod requests;
mod reviews;
mod spoke;
mod stats;
mod watching;

use crate::host::FakeEnvoy;
use kube::Kube;
use std::time::Duration;

// The filter itself: what a proxy would find in the module.
use burst_metrics as _;
unsafe extern "C" {
    safe fn _initialize();
}

extern "C" fn initialize() {
    _initialize();
}

const SECOND: Duration = Duration::from_secs(1);

/// Reads once a second, so that a story moves on with the ticks.
const EVERY_SECOND: &str = r#"{"cluster":"kube_api","sync":{"mode":"list"},"poll_interval":"1s"}"#;

/// A proxy with the filter in front of a cluster.
fn envoy(configuration: &str, kube: &Kube) -> FakeEnvoy {
    let kube = kube.clone();
    let envoy = FakeEnvoy::new(initialize).config(configuration).cluster("kube_api");
    envoy.kube(move |callout| kube.answer(callout))
}

/// The lines that the filter logged, in order, without those about who polls.
fn logged(envoy: &FakeEnvoy) -> Vec<String> {
    let lines = envoy.log().into_iter().map(|line| line.text);
    lines.filter(|line| !line.starts_with("this thread polls")).collect()
}
