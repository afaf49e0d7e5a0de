//! `burstctl hpa lint`

use burst_hpa::{Options, Severity};

use super::{Outcome, Terminal};
use crate::args::{Burstctl, LintArgs, LintFormat};
use crate::finding::Finding;
use crate::hpa::is_hpa;
use crate::input::Input;
use crate::lint;

/// Writes the findings about the HPAs of files, or of a cluster.
pub(super) fn lint(args: &LintArgs, burstctl: &Burstctl, terminal: &mut Terminal<'_>) -> Outcome {
    let (mut input, options) = match read(args, burstctl, terminal) {
        Ok(read) => read,
        Err(reason) => {
            terminal.message(reason);
            return Outcome::Incomplete;
        }
    };
    if args.allow_empty {
        input.forget_foreign_errors();
    }
    let findings = lint::check(&input, options);
    let written = lint::write(&findings, &input.sources, args.output, terminal.data());
    for unreadable in &input.unreadable {
        terminal.message(unreadable);
    }
    let hpas = input.objects.iter().filter(|object| is_hpa(object)).count();
    let outcome = outcome(&input, &findings, hpas, args.allow_empty);
    summarize(&findings, hpas, outcome, args, terminal);
    terminal.finish(written, outcome)
}

fn outcome(input: &Input, findings: &[Finding], hpas: usize, allow_empty: bool) -> Outcome {
    let has_errors = findings.iter().any(|finding| finding.severity == Severity::Error);
    if !input.invalid_documents.is_empty() || !input.unreadable.is_empty() {
        Outcome::Incomplete
    } else if has_errors {
        Outcome::ProblemsFound
    } else if hpas == 0 && !allow_empty {
        Outcome::Incomplete
    } else {
        Outcome::Success
    }
}

/// Says how many HPAs were checked. That there was none is said in each format, because the output is empty then.
fn summarize(findings: &[Finding], hpas: usize, outcome: Outcome, args: &LintArgs, terminal: &mut Terminal<'_>) {
    if hpas == 0 && findings.is_empty() {
        let advice = if args.allow_empty {
            ""
        } else {
            "; if that is intended, use --allow-empty"
        };
        terminal.message(format_args!("no HPA was found{advice}"));
        return;
    }
    if args.output == LintFormat::Text {
        let counted = format!("{hpas} HPA{}", if hpas == 1 { "" } else { "s" });
        let result = if findings.is_empty() && outcome == Outcome::Success {
            "all is well".to_owned()
        } else {
            lint::summary(findings)
        };
        terminal.message(format_args!("{counted}: {result}"));
    }
}

#[cfg(feature = "live")]
const NO_INPUT: &str = "no file was given; `-` is stdin, and --all-namespaces reads a cluster";
#[cfg(not(feature = "live"))]
const NO_INPUT: &str = "no file was given; `-` is stdin";

/// Reads the files or the cluster. The error is a message.
fn read(args: &LintArgs, burstctl: &Burstctl, terminal: &mut Terminal<'_>) -> Result<(Input, Options), String> {
    let paths = args.files.paths();
    if let Some(read) = read_cluster(args, burstctl, terminal) {
        return read;
    }
    if paths.is_empty() && !args.allow_empty {
        return Err(NO_INPUT.to_owned());
    }
    Ok((Input::read(&paths, terminal.stdin()), args.cluster.options()))
}

/// Reads the cluster, if an option chooses one.
#[cfg(feature = "live")]
fn read_cluster(
    args: &LintArgs,
    burstctl: &Burstctl,
    terminal: &mut Terminal<'_>,
) -> Option<Result<(Input, Options), String>> {
    if !burstctl.cluster.is_given() {
        return None;
    }
    if !args.files.paths().is_empty() {
        return Some(Err(
            "give either files, or options of a cluster such as --namespace".to_owned()
        ));
    }
    let objects = match lint::read_cluster(&burstctl.cluster) {
        Ok(objects) => objects,
        Err(error) => return Some(Err(error.to_string())),
    };
    for plural in &objects.forbidden {
        terminal.message(format_args!(
            "your user may not list {plural}, so the rules that need them were not applied"
        ));
    }
    // The API server has applied its feature gates to the objects that it stores.
    let options = Options {
        scale_to_zero: true,
        tolerance: true,
        ..args.cluster.options()
    };
    Some(Ok((objects.input, options)))
}

#[cfg(not(feature = "live"))]
fn read_cluster(_: &LintArgs, _: &Burstctl, _: &mut Terminal<'_>) -> Option<Result<(Input, Options), String>> {
    None
}
