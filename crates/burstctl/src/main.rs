//! The `burstctl` command: data on stdout, messages on stderr, exit code 0, 1 or 2.

use std::process::ExitCode;

use burstctl::args;
use burstctl::run::{Terminal, run};

fn main() -> ExitCode {
    match args::parse(std::env::args_os()) {
        Ok(burstctl) => run(&burstctl, &mut Terminal::new()).into(),
        Err(error) => error.exit(),
    }
}
