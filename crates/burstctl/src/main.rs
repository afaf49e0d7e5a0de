//! The `burstctl` command: data on stdout, words on stderr; 0 all is well, 1 something to object to, 2 could not read.

use std::process::ExitCode;

use burstctl::args::Burstctl;
use burstctl::run::{Terminal, run};
use clap::Parser as _;

fn main() -> ExitCode {
    run(&Burstctl::parse().topic, &mut Terminal::new()).into()
}
