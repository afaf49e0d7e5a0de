//! Checks as lines for people, or as JSON.

use std::io::{self, Write};

use clap::builder::styling::{AnsiColor, Style};
use serde::Serialize;

use super::{Check, Verdict};
use crate::args::Output;

/// The order of the fields is part of the format.
#[derive(Serialize)]
struct Line<'a> {
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
pub fn write(checks: &[Check], output: Output, styled: bool, out: &mut dyn Write) -> io::Result<()> {
    match output {
        Output::Text => text(checks, styled, out),
        Output::Json => checks.iter().try_for_each(|check| json(check, out)),
    }
}

fn json(check: &Check, out: &mut dyn Write) -> io::Result<()> {
    let line = Line {
        check: check.about,
        of: &check.of,
        verdict: check.verdict.word(),
        found: &check.found,
        advice: &check.advice,
    };
    writeln!(out, "{}", serde_json::to_string(&line)?)
}

fn text(checks: &[Check], styled: bool, out: &mut dyn Write) -> io::Result<()> {
    let wide = |of: fn(&Check) -> &str| checks.iter().map(|check| of(check).chars().count()).max().unwrap_or(0);
    let (about, of) = (wide(|check| check.about), wide(|check| &check.of));
    for check in checks {
        let style = if styled { style(check.verdict) } else { Style::new() };
        let verdict = check.verdict.word();
        write!(out, "{style}{verdict:7}{style:#}  {:about$}  ", check.about)?;
        if of > 0 {
            write!(out, "{:of$}  ", check.of)?;
        }
        writeln!(out, "{}", check.found)?;
        if !check.advice.is_empty() {
            writeln!(out, "         what to do: {}", check.advice)?;
        }
    }
    Ok(())
}

fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Well => AnsiColor::Green.on_default(),
        Verdict::Trouble => AnsiColor::Red.on_default().bold(),
        Verdict::Unknown => AnsiColor::Yellow.on_default(),
    }
}
