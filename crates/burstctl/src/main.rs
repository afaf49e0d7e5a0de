//! The `burstctl` command: data on stdout, words on stderr; 0 all is well, 1 something to object to, 2 could not read.

use std::process::ExitCode;

use burstctl::args::{Burstctl, Hpa, Topic};
use burstctl::run::{self, Terminal};
use clap::Parser as _;

fn main() -> ExitCode {
    let Topic::Hpa { command } = Burstctl::parse().topic;
    let mut terminal = Terminal::new();
    let end = match command {
        Hpa::Lint(words) => run::lint(&words, &mut terminal),
        Hpa::Render(words) => run::render(&words, &mut terminal),
        Hpa::Migrate(words) => run::migrate(&words, &mut terminal),
        Hpa::Explain(words) => run::explain(&words, &mut terminal),
        Hpa::Simulate(words) => run::simulate(&words, &mut terminal),
    };
    end.into()
}
