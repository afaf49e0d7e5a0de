//! Stops a plain `cargo build` for wasm32. Its module would export the callbacks of the SDK, which do nothing, and Envoy would
//! load it without a complaint. `cargo xtask wasm` replaces them (`xtask/src/trim.rs`).

use std::env;

/// Set by `cargo xtask wasm`.
const XTASK: &str = "BURST_METRICS_XTASK";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={XTASK}");
    let is_wasm = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32");
    if is_wasm && env::var_os(XTASK).is_none() {
        println!("cargo::error=a plain build makes a module that does nothing: run `make wasm`");
    }
}
