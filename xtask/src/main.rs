//! `cargo xtask TASK`: the steps of the build after compilation.
//!
//! The SDK exports every callback of the proxy-wasm ABI, and a host calls each exported one for each request, whether or not
//! the filter uses it. `cargo xtask wasm` therefore post-processes the module that Cargo links: it removes the exports that the
//! filter does not use and the code behind them, gives our callbacks the names of the SDK's that they replace, and shortens
//! the function names. The module that Cargo links is not usable without this step, so build with `make wasm`.
//!
//! `cargo xtask test` is the runner of `make test`.

mod artifact;
mod cargo;
mod digest;
mod image;
mod names;
mod sbom;
mod test;
mod trim;
mod wasm;

use std::process::ExitCode;

use artifact::Artifact;

const USAGE: &str = "\
usage: cargo xtask wasm [--test]
       cargo xtask image
       cargo xtask test [ARGUMENTS OF cargo test]

  wasm         build the filter into target/wasm/: burst-metrics.wasm and burst-metrics-header.wasm
  wasm --test  also build burst-metrics-trap.wasm, which only the tests load
  image        build the two as OCI images with their SBOMs into target/image/
  test         run the tests that `cargo test` runs, but two programs at a time, and no documentation tests";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let task: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match task[..] {
        ["wasm"] => wasm(&Artifact::SHIPPED),
        ["wasm", "--test"] => wasm(&Artifact::ALL),
        ["image"] => image::build(),
        ["test", ref selection @ ..] => test::run(selection),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cargo xtask {}: {error:#}", task.join(" "));
            ExitCode::FAILURE
        }
    }
}

fn wasm(artifacts: &'static [Artifact]) -> anyhow::Result<()> {
    wasm::build(artifacts, &cargo::metadata()?).map(drop)
}
