//! `burstctl istio render`

use super::{Outcome, Terminal};
use crate::args::IstioRenderArgs;
use crate::input::Input;
use crate::istio;

/// Writes the manifests of one file of values.
pub(super) fn render(args: &IstioRenderArgs, terminal: &mut Terminal<'_>) -> Outcome {
    if args.schema {
        let written = terminal.data().raw(istio::SCHEMA);
        return terminal.finish(written, Outcome::Success);
    }
    let input = Input::read(args.values.as_slice(), terminal.stdin());
    terminal.report_unreadable(&input);
    terminal.report_syntax_errors(&input);
    if input.is_incomplete() {
        return Outcome::Incomplete;
    }
    let Some(values) = istio::only_document(&input) else {
        terminal.message("expected one document of values");
        return Outcome::Incomplete;
    };
    match istio::render(values) {
        Ok(documents) => {
            let written = terminal.data().raw(&documents.join("---\n"));
            terminal.finish(written, Outcome::Success)
        }
        Err(finding) => {
            terminal.print_findings(&[*finding], &input);
            Outcome::ProblemsFound
        }
    }
}
