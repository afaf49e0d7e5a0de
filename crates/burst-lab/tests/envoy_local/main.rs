//! What stands in `envoy-local/`, with the real Envoy and the real filter: both come with `make setup` and `make wasm`.

mod compose;
mod ground;
mod run;
