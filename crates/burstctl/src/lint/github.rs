//! Workflow commands, which GitHub shows beside the lines of a change; see
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>.

use std::io::{self, Write};

use super::finding::Finding;
use super::json::detail;
use super::text::title;
use crate::input::Source;

pub(super) fn write(findings: &[Finding], sources: &[Source], out: &mut dyn Write) -> io::Result<()> {
    for finding in findings {
        let file = sources.get(finding.source).map_or("", |source| &source.name);
        let start = finding.span.start;
        writeln!(
            out,
            "::{} file={},line={},col={},title={}::{}",
            finding.severity,
            property(file),
            start.line,
            start.column,
            property(finding.mistake.rule()),
            escaped(&format!("{}: {}", title(finding), detail(finding))),
        )?;
    }
    Ok(())
}

/// A line break would end the command.
fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}
