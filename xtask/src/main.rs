//! `cargo xtask TASK`: what the build does beyond compiling.

mod artifact;
mod cargo;
mod image;
mod names;
mod sbom;
mod trim;
mod wasm;

use std::process::ExitCode;

use artifact::Artifact;

const USAGE: &str = "\
usage: cargo xtask wasm [--test]
       cargo xtask image

  wasm         build the filter into target/wasm/: burst-metrics.wasm and burst-metrics-header.wasm
  wasm --test  and burst-metrics-trap.wasm, which only the tests load
  image        the two as OCI images, with a list of what is in them, into target/image/";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["wasm"] => wasm(&Artifact::SHIPPED),
        ["wasm", "--test"] => wasm(&Artifact::ALL),
        ["image"] => image::build(),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cargo xtask {}: {error:#}", arguments.join(" "));
            ExitCode::FAILURE
        }
    }
}

fn wasm(artifacts: &'static [Artifact]) -> anyhow::Result<()> {
    wasm::build(artifacts, &cargo::metadata()?).map(drop)
}
