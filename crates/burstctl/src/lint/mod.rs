//! `burstctl hpa lint`: what is wrong, and where.

mod check;
mod finding;
mod github;
mod json;
mod sarif;
mod text;

use std::io;

use burst_hpa::Severity;
pub use check::{check, check_of_any_version};
pub use finding::{Finding, Mistake};

use crate::args::Format;
use crate::input::Source;
use crate::page::Page;

/// Writes findings.
///
/// # Errors
/// If `out` cannot be written to.
pub fn write(findings: &[Finding], sources: &[Source], format: Format, page: &mut Page<'_>) -> io::Result<()> {
    match format {
        Format::Text => text::write(findings, sources, page),
        Format::Json => json::write(findings, sources, page),
        Format::Sarif => sarif::write(findings, sources, page),
        Format::Github => github::write(findings, sources, page),
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
