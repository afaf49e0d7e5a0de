//! GitHub workflow commands, which annotate the lines of a pull request; see
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>.

use std::io;

use burst_printable::Printable;

use super::json::detail;
use super::text::title;
use crate::finding::Finding;
use crate::input::SourceFile;
use crate::printer::Printer;

pub(super) fn write(findings: &[Finding], sources: &[SourceFile], printer: &mut Printer<'_>) -> io::Result<()> {
    for finding in findings {
        let name = sources.get(finding.source).map_or("", |source| &source.name);
        // GitHub compares the path with those of the repository.
        let file = name.strip_prefix("./").unwrap_or(name);
        let start = finding.span.start;
        printer.raw(&format!(
            "::{} file={},line={},col={},title={}::{}\n",
            finding.severity,
            property(file),
            start.line,
            start.column,
            property(finding.kind.rule()),
            escaped(&format!("{}: {}", title(finding), detail(finding))),
        ))?;
    }
    Ok(())
}

/// Keeps text on one line. GitHub would turn a `%0A` into a line break in the log.
fn escaped(text: &str) -> String {
    Printable::new(text).to_string().replace('%', "%25")
}

fn property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}
