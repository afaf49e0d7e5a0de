//! `burstctl hpa lint`: finds errors in HPAs and shows their positions.

mod check;
#[cfg(feature = "live")]
mod cluster;
mod github;
mod helm;
mod json;
mod sarif;
mod text;

use std::io;

use burst_hpa::Severity;
pub use check::{check, check_of_any_version};
#[cfg(feature = "live")]
pub use cluster::{ClusterObjects, read_cluster};

use crate::args::LintFormat;
use crate::finding::Finding;
use crate::input::SourceFile;
use crate::printer::Printer;

/// Writes findings in a format.
///
/// # Errors
/// Returns an error if the printer cannot write.
pub fn write(
    findings: &[Finding],
    sources: &[SourceFile],
    format: LintFormat,
    printer: &mut Printer<'_>,
) -> io::Result<()> {
    match format {
        LintFormat::Text => text::write(findings, sources, printer),
        LintFormat::Json => json::write(findings, sources, printer),
        LintFormat::Sarif => sarif::write(findings, sources, printer),
        LintFormat::Github => github::write(findings, sources, printer),
    }
}

/// Counts the findings, as in `3 errors, 1 warning`.
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
