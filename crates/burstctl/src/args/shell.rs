//! The arguments of the commands about burstctl itself.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use super::OutputFormat;

/// The arguments of `burstctl completion`.
#[derive(Debug, Args)]
pub struct CompletionArgs {
    /// The shell
    pub shell: Shell,
}

/// The arguments of `burstctl version`.
#[derive(Debug, Args)]
#[command(next_line_help = true)]
pub struct VersionArgs {
    /// The output format
    #[arg(short, long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// The arguments of `burstctl man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The folder to write to
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}
