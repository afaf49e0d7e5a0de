//! The program that Cargo runs a wasm32 test with: it starts node. All of it is wasm-bindgen's.

fn main() -> anyhow::Result<()> {
    wasm_bindgen_cli::wasm_bindgen_test_runner::run_cli_with_args(std::env::args_os())
}
