//! The `burstctl` command: data on stdout, words on stderr; 0 all is well, 1 something to object to, 2 could not read.

use std::process::ExitCode;

use burstctl::args;
use burstctl::run::{Terminal, run};

fn main() -> ExitCode {
    match args::parse(std::env::args_os()) {
        Ok(burstctl) => run(&burstctl.command, &mut Terminal::new()).into(),
        Err(error) => error.exit(),
    }
}
