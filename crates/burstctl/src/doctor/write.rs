//! Checks as lines for people, or as JSON.

use std::io;

use clap::builder::styling::{AnsiColor, Style};
use serde::Serialize;

use super::{Check, Verdict};
use crate::args::Output;
use crate::page::Page;

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
pub fn write(checks: &[Check], output: Output, page: &mut Page<'_>) -> io::Result<()> {
    match output {
        Output::Text => text(checks, page),
        Output::Json => checks.iter().try_for_each(|check| page.json(&json(check))),
    }
}

fn json(check: &Check) -> Line<'_> {
    Line {
        check: check.about,
        of: &check.of,
        verdict: check.verdict.word(),
        found: &check.found,
        advice: &check.advice,
    }
}

fn text(checks: &[Check], page: &mut Page<'_>) -> io::Result<()> {
    let wide = |of: fn(&Check) -> &str| checks.iter().map(|check| of(check).chars().count()).max().unwrap_or(0);
    let (about, of) = (wide(|check| check.about), wide(|check| &check.of));
    for check in checks {
        let verdict = format!("{:7}", check.verdict.word());
        let gap = if of > 0 { "  " } else { "" };
        let rest = format!("  {:about$}  {:of$}{gap}{}", check.about, check.of, check.found);
        page.parts(&[(style(check.verdict), &verdict), (Style::new(), &rest)])?;
        if !check.advice.is_empty() {
            page.line(format_args!("         what to do: {}", check.advice))?;
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
