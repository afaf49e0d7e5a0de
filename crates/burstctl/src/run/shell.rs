//! `burstctl completion`, `burstctl version` and `burstctl man`

use clap::CommandFactory as _;
use serde_json::json;

use super::{Outcome, Terminal};
use crate::args::{Burstctl, CompletionArgs, ManArgs, VersionArgs, kubernetes_versions};

/// Writes the completion script of a shell.
pub(super) fn completion(args: &CompletionArgs, terminal: &mut Terminal<'_>) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Burstctl::command(), "burstctl", &mut script);
    let written = terminal.data().raw(&String::from_utf8_lossy(&script));
    terminal.finish(written, Outcome::Success)
}

/// Writes the version.
pub(super) fn version(args: &VersionArgs, terminal: &mut Terminal<'_>) -> Outcome {
    let version = env!("CARGO_PKG_VERSION");
    let (oldest, newest) = kubernetes_versions();
    let printer = terminal.data();
    let written = match args.output.objects() {
        None => printer.line(format_args!(
            "burstctl {version}, with the rules of Kubernetes {oldest} to {newest}"
        )),
        Some(format) => {
            let object = json!({"burstctl": version, "kubernetes": {"oldest": oldest, "newest": newest}});
            printer.object(&object, format)
        }
    };
    terminal.finish(written, Outcome::Success)
}

/// Writes a man page for each command.
pub(super) fn man(args: &ManArgs, terminal: &mut Terminal<'_>) -> Outcome {
    match clap_mangen::generate_to(Burstctl::command(), &args.folder) {
        Ok(()) => Outcome::Success,
        Err(reason) => {
            terminal.message(format_args!("{}: {reason}", args.folder.display()));
            Outcome::Incomplete
        }
    }
}
