//! Advice for Helm templates that were not rendered.

use crate::finding::{Finding, FindingKind};
use crate::input::Input;

const ADVICE: &str = "This looks like a Helm template. Render it first: helm template … | burstctl hpa lint -";

/// Adds advice to findings that a template causes: a document with template actions that is not YAML, or a field on a line
/// with one.
pub(super) fn advise(findings: &mut [Finding], input: &Input) {
    for finding in findings {
        let text = input.sources.get(finding.source).map_or("", |source| &source.text);
        let line = finding.span.start.line.saturating_sub(1);
        let is_template = match finding.kind {
            FindingKind::Syntax => document_around(text, line).any(has_action),
            FindingKind::Decode | FindingKind::Invalid(_) => text.lines().nth(line).is_some_and(has_action),
            FindingKind::Lint(_) | FindingKind::Short | FindingKind::Values | FindingKind::RelatedObject => false,
        };
        if is_template {
            finding.advice = Some(ADVICE.to_owned());
        }
    }
}

/// Returns the lines of the document that contains a line, which is counted from 0.
fn document_around(text: &str, line: usize) -> impl Iterator<Item = &str> {
    let is_separator = |text: &str| text.starts_with("---");
    let above = text.lines().take(line).enumerate();
    let first = above
        .filter(|(_, text)| is_separator(text))
        .last()
        .map_or(0, |(index, _)| index + 1);
    let rest = text.lines().enumerate().skip(first);
    rest.take_while(move |(index, text)| *index <= line || !is_separator(text))
        .map(|(_, text)| text)
}

fn has_action(line: &str) -> bool {
    line.split_once("{{").is_some_and(|(_, rest)| rest.contains("}}"))
}
