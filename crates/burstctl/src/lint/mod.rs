//! `burstctl hpa lint`: what is wrong, and where.

mod check;
mod finding;
mod github;
mod json;
mod sarif;
mod text;

use std::io::{self, Write};

use burst_hpa::Severity;
pub use check::check;
pub use finding::{Finding, Mistake};

use crate::args::Format;
use crate::input::Source;

/// Writes findings; `styled` is for text on a terminal.
///
/// # Errors
/// If `out` cannot be written to.
pub fn write(
    findings: &[Finding],
    sources: &[Source],
    format: Format,
    styled: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        Format::Text => text::write(findings, sources, styled, out),
        Format::Json => json::write(findings, sources, out),
        Format::Sarif => sarif::write(findings, sources, out),
        Format::Github => github::write(findings, sources, out),
    }
}

/// `3 errors, 1 warning`
#[must_use]
pub fn summary(findings: &[Finding]) -> String {
    let errors = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .count();
    let counted = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    format!(
        "{}, {}",
        counted(errors, "error"),
        counted(findings.len() - errors, "warning")
    )
}
