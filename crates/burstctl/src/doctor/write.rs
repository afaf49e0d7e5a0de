//! Checks as lines for people, or as JSON.

use std::io;

use clap::builder::styling::{AnsiColor, Style};
use serde::Serialize;

use super::{Check, Verdict};
use crate::args::OutputFormat;
use crate::printer::Printer;

/// The order of the fields is part of the format.
#[derive(Serialize)]
struct CheckLine<'a> {
    check: &'a str,
    of: &'a str,
    verdict: &'a str,
    found: &'a str,
    advice: &'a str,
}

/// Writes checks.
///
/// # Errors
/// If they cannot be written.
pub fn write(checks: &[Check], output: OutputFormat, printer: &mut Printer<'_>) -> io::Result<()> {
    match output.objects() {
        None => text(checks, printer),
        Some(format) => checks.iter().try_for_each(|check| printer.object(&json(check), format)),
    }
}

fn json(check: &Check) -> CheckLine<'_> {
    CheckLine {
        check: check.name,
        of: &check.subject,
        verdict: check.verdict.as_str(),
        found: &check.finding,
        advice: &check.advice,
    }
}

fn text(checks: &[Check], printer: &mut Printer<'_>) -> io::Result<()> {
    let width = |of: fn(&Check) -> &str| checks.iter().map(|check| of(check).chars().count()).max().unwrap_or(0);
    let (name, subject) = (width(|check| check.name), width(|check| &check.subject));
    for check in checks {
        let verdict = format!("{:7}", check.verdict.as_str());
        let gap = if subject > 0 { "  " } else { "" };
        let rest = format!(
            "  {:name$}  {:subject$}{gap}{}",
            check.name, check.subject, check.finding
        );
        printer.styled_line(&[(style(check.verdict), &verdict), (Style::new(), &rest)])?;
        if !check.advice.is_empty() {
            printer.line(format_args!("         what to do: {}", check.advice))?;
        }
    }
    Ok(())
}

fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Ok => AnsiColor::Green.on_default(),
        Verdict::Problem => AnsiColor::Red.on_default().bold(),
        Verdict::Unknown => AnsiColor::Yellow.on_default(),
    }
}
