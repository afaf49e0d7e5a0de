//! The `burst-lab` command as its users start it.

mod process;
mod proxy_failures;
mod run;
mod serve;
mod terminal;
