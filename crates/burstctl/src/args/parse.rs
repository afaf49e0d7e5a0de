//! From the words of a process to a command.

use std::ffi::OsString;

use burst_printable::Printable;
use clap::Parser as _;

use super::Burstctl;
use crate::printer::escape_workflow_commands;

/// Reads a command line.
///
/// # Errors
/// What is wrong with it, or the help that it asks for. Where a shell writes the names of files for `*` an argument is
/// foreign text too, so the error quotes it in characters that no terminal obeys.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Burstctl, clap::Error> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let error = match Burstctl::try_parse_from(&arguments) {
        Err(error) if error.use_stderr() => error,
        read => return read,
    };
    let printable = |argument: &OsString| {
        escape_workflow_commands(&Printable::new(argument.to_string_lossy()).to_string()).into_owned()
    };
    // The same mistake in other characters.
    Err(match Burstctl::try_parse_from(arguments.iter().map(printable)) {
        Err(same) if same.use_stderr() => same,
        _ => clap::Error::new(error.kind()),
    })
}
