//! `cargo xtask TASK`: what the build does beyond compiling.

mod artifact;
mod trim;
mod wasm;

use std::process::ExitCode;

use artifact::Artifact;

const USAGE: &str = "\
usage: cargo xtask wasm [--test]

  wasm         build the filter into target/wasm/: burst-metrics.wasm and burst-metrics-header.wasm
  wasm --test  and burst-metrics-trap.wasm, which only the tests load";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let artifacts = match arguments[..] {
        ["wasm"] => &Artifact::SHIPPED[..],
        ["wasm", "--test"] => &Artifact::ALL[..],
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match wasm::build(artifacts) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cargo xtask wasm: {error:#}");
            ExitCode::FAILURE
        }
    }
}
