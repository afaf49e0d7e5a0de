//! The files of `envoy-local/`, with the real Envoy and the real filter: `make setup` and `make wasm` build both.

mod compose;
mod context;
mod folder;
mod live_page;
mod run;
