//! `burstctl hpa lint`

use burst_hpa::Severity;

use super::{Outcome, Terminal};
use crate::args::{LintArgs, LintFormat};
use crate::hpa::is_hpa;
use crate::input::Input;
use crate::lint;

/// Writes the findings about HPAs.
pub(super) fn lint(args: &LintArgs, terminal: &mut Terminal<'_>) -> Outcome {
    let paths = args.files.paths();
    if paths.is_empty() {
        terminal.message("no file was given; `-` is stdin");
        return Outcome::Incomplete;
    }
    let input = Input::read(&paths, terminal.stdin());
    let findings = lint::check(&input, args.cluster.options());
    let written = lint::write(&findings, &input.sources, args.output, terminal.data());
    terminal.report_unreadable(&input);
    let hpas = input.objects.iter().filter(|object| is_hpa(object)).count();
    if args.output == LintFormat::Text {
        let counted = format!("{hpas} HPA{}", if hpas == 1 { "" } else { "s" });
        terminal.message(format_args!("{counted}: {}", lint::summary(&findings)));
    }
    let end = if input.is_incomplete() {
        Outcome::Incomplete
    } else if findings.iter().any(|finding| finding.severity == Severity::Error) {
        Outcome::ProblemsFound
    } else {
        Outcome::Success
    };
    terminal.finish(written, end)
}
