//! Parses the arguments of the process.

use std::ffi::OsString;

use burst_printable::Printable;
use clap::Parser as _;

use super::Burstctl;
use crate::printer::escape_workflow_commands;

/// Parses a command line.
///
/// # Errors
/// An invalid command line, or a request for help. Where a shell expands `*`, an argument is an untrusted file name, so
/// the error quotes it with control characters escaped.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Burstctl, clap::Error> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let error = match Burstctl::try_parse_from(&arguments) {
        Err(error) if error.use_stderr() => error,
        read => return read,
    };
    let printable = |argument: &OsString| {
        escape_workflow_commands(&Printable::new(argument.to_string_lossy()).to_string()).into_owned()
    };
    // Parse again with escaped arguments: the same error, safe to print.
    Err(match Burstctl::try_parse_from(arguments.iter().map(printable)) {
        Err(same) if same.use_stderr() => same,
        _ => clap::Error::new(error.kind()),
    })
}
