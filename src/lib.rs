//! The Envoy filter: the only code that speaks proxy-wasm. What it does is decided in `burst-model`; here the host is
//! asked, the model is told, and its effects are carried out.
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

mod attic;
mod calls;
mod cluster_reader;
mod host;
mod http;
mod key;
mod leader;
mod local_reply;
mod log;
mod metrics_apis;
mod quarantine;
mod requests;
mod root;
mod roots;
mod stats;
mod streams;
mod vm;

mod start {
    proxy_wasm::main! {{
        crate::log::on_panic();
    }}
}
