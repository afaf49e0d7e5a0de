//! `burstctl hpa render`

use super::migrate::migration_note;
use super::{Outcome, Terminal};
use crate::args::RenderArgs;
use crate::input::Input;
use crate::render;

/// Writes `autoscaling/v2` YAML.
pub(super) fn render(args: &RenderArgs, terminal: &mut Terminal<'_>) -> Outcome {
    if args.schema {
        let written = terminal.data().raw(render::SCHEMA);
        return terminal.finish(written, Outcome::Success);
    }
    let paths = args.files.paths();
    if paths.is_empty() {
        terminal.message("no file was given; `-` is stdin");
        return Outcome::Incomplete;
    }
    let input = Input::read(&paths, terminal.stdin());
    terminal.report_unreadable(&input);
    let rendered = render::render(&input, args.cluster.options(), args.defaults);
    let written = terminal.data().raw(&rendered.documents.join("---\n"));
    for (object, note) in &rendered.lost {
        terminal.message(migration_note(&input, object, note));
    }
    for stripped in &rendered.stripped {
        let file = input.name(stripped.source);
        terminal.message(format_args!(
            "{file}:{}: removed spec.replicas of {}: HPA {} sets it, and every apply would reset it. If the \
             field is in the cluster already, hand it over first (kubectl apply edit-last-applied), or the first apply \
             without it sets it to 1 briefly.",
            stripped.line, stripped.target, stripped.hpa
        ));
    }
    if !rendered.documents.is_empty() {
        terminal.warn_about_comments(&input);
    }
    terminal.print_findings(&rendered.findings, &input);
    let end = if input.is_incomplete() {
        Outcome::Incomplete
    } else if rendered.findings.is_empty() {
        Outcome::Success
    } else {
        Outcome::ProblemsFound
    };
    terminal.finish(written, end)
}
