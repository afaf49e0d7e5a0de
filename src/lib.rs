//! The Envoy filter: the only code that speaks proxy-wasm. `burst-model` decides what to do, and `burst-shared-data` what the
//! VMs of a proxy tell each other. This crate passes events of the host to them, and carries out the effects they return.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::print_stderr,
        clippy::print_stdout,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::unreachable
    )
)]

mod callouts;
mod candidacy;
mod degraded;
mod dispatch;
mod host;
mod http;
mod leader;
mod load_report;
mod local_reply;
mod log;
mod long_polls;
mod metrics_apis;
mod overflow;
mod peers;
mod requests;
mod retry_after;
mod root;
mod shared_data;
mod stats;
mod upstream_streams;
mod vm;

mod start {
    proxy_wasm::main! {{
        crate::log::log_panics();
    }}
}
