//! SARIF 2.1.0 for code scanning; see <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>.

use std::collections::BTreeSet;
use std::io;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::json::detail;
use super::text::title;
use crate::finding::Finding;
use crate::input::SourceFile;
use crate::printer::Printer;

pub(super) fn write(findings: &[Finding], sources: &[SourceFile], printer: &mut Printer<'_>) -> io::Result<()> {
    let rules: BTreeSet<&str> = findings.iter().map(|finding| finding.kind.rule()).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "burstctl",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(|rule| json!({"id": rule})).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": findings.iter().map(|finding| result(finding, sources)).collect::<Vec<_>>(),
        }],
    });
    printer.pretty_json(&log)
}

fn result(finding: &Finding, sources: &[SourceFile]) -> Value {
    let file = sources.get(finding.source).map_or("", |source| &source.name);
    let (start, end) = (finding.span.start, finding.span.end);
    json!({
        "ruleId": finding.kind.rule(),
        "level": finding.severity.to_string(),
        "message": {"text": format!("{}: {}", title(finding), detail(finding))},
        "locations": [{
            "physicalLocation": {
                "artifactLocation": {"uri": uri(file)},
                "region": {
                    "startLine": start.line, "startColumn": start.column,
                    "endLine": end.line, "endColumn": end.column,
                },
            },
            "logicalLocations": [{"fullyQualifiedName": format!("{} {}", finding.object, finding.field)}],
        }],
    })
}

/// The characters to percent-encode in a path. A colon is among them, because it would end the scheme of a URI.
const PATH_SET: AsciiSet = NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Returns a file name as a URI. A relative name stays relative.
fn uri(file: &str) -> String {
    utf8_percent_encode(&file.replace('\\', "/"), &PATH_SET).to_string()
}
