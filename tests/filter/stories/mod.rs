//! The behaviour of the filter, on the fake host.

mod aliases;
mod configuration;
mod corruption;
mod degraded;
mod endpoints;
mod failures;
mod fallback;
mod garbage_collection;
mod header;
mod hub;
mod kube;
mod lease;
mod log;
mod long_polls;
mod metrics_apis;
mod orca;
mod outage;
mod overflow;
mod overload;
mod parts;
mod peers;
mod pods;
mod publishing;
mod quarantine;
mod recovery;
mod requests;
mod retry_after;
mod reviews;
mod runbook;
mod spoke;
mod stats;
mod streaming_watches;
mod streams;
mod watching;

use crate::host::{FakeEnvoy, Module};
use kube::Kube;
use proxy_wasm::types::Action;
use std::time::Duration;

// Links the filter and its exports.
use burst_metrics as _;
unsafe extern "C" {
    safe fn _initialize();
    safe fn own_on_context_create(context: u32, root: u32);
    safe fn own_on_configure(root: u32, configuration_size: usize) -> bool;
    safe fn own_on_tick(root: u32);
    safe fn own_on_queue_ready(root: u32, queue: u32);
    safe fn own_on_http_call_response(root: u32, token: u32, headers: usize, body_size: usize, trailers: usize);
    safe fn own_on_request_headers(stream: u32, headers: usize, end_of_stream: bool) -> Action;
    safe fn own_on_response_headers(stream: u32, headers: usize, end_of_stream: bool) -> Action;
    safe fn own_on_response_body(stream: u32, size: usize, end_of_stream: bool) -> Action;
    safe fn own_on_delete(context: u32);
}

/// The module with all features.
const FULL: Module = Module {
    initialize: _initialize,
    context_create: own_on_context_create,
    vm_start: None,
    configure: own_on_configure,
    tick: own_on_tick,
    queue_ready: own_on_queue_ready,
    http_call_response: own_on_http_call_response,
    request_headers: Some(own_on_request_headers),
    response_headers: own_on_response_headers,
    response_body: Some(own_on_response_body),
    delete: Some(own_on_delete),
    has_sdk_callbacks: false,
    check_line: runbook::check_line,
};

/// The module that is called for responses only, without the end-of-stream callbacks.
const HEADER_ONLY: Module = Module {
    request_headers: None,
    response_body: None,
    delete: None,
    ..FULL
};

const SECOND: Duration = Duration::from_secs(1);

/// Polls once a second, so that each tick reads the cluster.
const EVERY_SECOND: &str = r#"{"cluster":"kube_api","sync":{"mode":"list"},"poll_interval":"1s"}"#;

/// A proxy that runs the filter and reads this cluster.
fn envoy(configuration: &str, kube: &Kube) -> FakeEnvoy {
    let kube = kube.clone();
    let envoy = FakeEnvoy::new(FULL).config(configuration).cluster("kube_api");
    envoy.kube(move |callout| kube.answer(callout))
}

/// The lines that the filter logged, in order, except those about which thread leads.
fn logged(envoy: &FakeEnvoy) -> Vec<String> {
    let lines = envoy.log().into_iter().map(|line| line.text);
    let is_of_leader =
        |line: &String| line.starts_with("this thread polls") || line.starts_with("this thread reads the policies");
    lines.filter(|line| !is_of_leader(line)).collect()
}
