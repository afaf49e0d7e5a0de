//! The `burst-lab` command as its users start it.

mod context;
mod process;
mod run;
mod serve;
mod terminal;
