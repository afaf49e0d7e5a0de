//! One JSON object per line.

use std::io;

use serde::Serialize;

use crate::finding::{Finding, FindingKind};
use crate::input::SourceFile;
use crate::printer::Printer;

/// The order of the fields is part of the format.
#[derive(Serialize)]
struct FindingLine<'a> {
    file: &'a str,
    document: usize,
    line: usize,
    column: usize,
    object: &'a str,
    field: &'a str,
    #[serde(rename = "type")]
    type_: &'a str,
    detail: String,
    rule: &'a str,
    severity: String,
}

pub(super) fn write(findings: &[Finding], sources: &[SourceFile], printer: &mut Printer<'_>) -> io::Result<()> {
    for finding in findings {
        let line = FindingLine {
            file: sources.get(finding.source).map_or("", |source| &source.name),
            document: finding.document,
            line: finding.span.start.line,
            column: finding.span.start.column,
            object: &finding.object,
            field: &finding.field,
            type_: finding.kind.type_(),
            detail: match finding.kind {
                // Exactly as the apiserver writes it, so that programs can compare.
                FindingKind::Decode | FindingKind::Invalid(_) => finding.detail.clone(),
                _ => detail(finding),
            },
            rule: finding.kind.rule(),
            severity: finding.severity.to_string(),
        };
        printer.json(&line)?;
    }
    Ok(())
}

/// Returns the detail of a finding, followed by its advice.
pub(super) fn detail(finding: &Finding) -> String {
    match &finding.advice {
        Some(advice) => format!("{}. {advice}", finding.detail.trim_end_matches('.')),
        None => finding.detail.clone(),
    }
}
