//! Parses the arguments of the process.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use burst_printable::Printable;
use clap::builder::StyledStr;
use clap::{CommandFactory as _, FromArgMatches as _};

use super::Burstctl;
use crate::printer::escape_workflow_commands;

/// The file name under which kubectl finds burstctl as its plugin.
/// <https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/#naming-a-plugin>
const PLUGIN_FILE: &str = "kubectl-burst";

/// How a user runs the plugin.
const PLUGIN_COMMAND: &str = "kubectl burst";

/// The widest help on a wide terminal. Longer lines are hard to read.
const MAX_HELP_WIDTH: usize = 100;

/// Parses a command line. As `kubectl-burst`, usage and help show `kubectl burst`.
///
/// # Errors
/// An invalid command line, or a request for help. Where a shell expands `*`, an argument is an untrusted file name, so
/// the error quotes it with control characters escaped.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Burstctl, clap::Error> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let error = match try_parse(&arguments) {
        Err(error) if error.use_stderr() => error,
        read => return read,
    };
    let printable = |argument: &OsString| {
        escape_workflow_commands(&Printable::new(argument.to_string_lossy()).to_string())
            .into_owned()
            .into()
    };
    // Parse again with escaped arguments: the same error, safe to print.
    let escaped: Vec<OsString> = arguments.iter().map(printable).collect();
    Err(match try_parse(&escaped) {
        Err(same) if same.use_stderr() => same,
        _ => clap::Error::new(error.kind()),
    })
}

fn try_parse(arguments: &[OsString]) -> Result<Burstctl, clap::Error> {
    let mut command = command(arguments.first().map(OsString::as_os_str));
    let matches = command.try_get_matches_from_mut(arguments)?;
    Burstctl::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Returns the command line as the program of this name shows it.
fn command(program: Option<&OsStr>) -> clap::Command {
    let command = Burstctl::command().max_term_width(MAX_HELP_WIDTH);
    let stem = program.and_then(|program| Path::new(program).file_stem());
    if stem.is_some_and(|stem| stem == PLUGIN_FILE) {
        return as_plugin(command).bin_name(PLUGIN_COMMAND);
    }
    command
}

/// Returns the command with `kubectl burst` in its texts and in those of all commands below it.
fn as_plugin(mut command: clap::Command) -> clap::Command {
    let renamed = |text: &StyledStr| text.to_string().replace("burstctl ", &format!("{PLUGIN_COMMAND} "));
    if let Some(about) = command.get_about().map(renamed) {
        command = command.about(about);
    }
    if let Some(about) = command.get_long_about().map(renamed) {
        command = command.long_about(about);
    }
    if let Some(examples) = command.get_after_long_help().map(renamed) {
        command = command.after_long_help(examples);
    }
    command.mut_subcommands(as_plugin)
}
