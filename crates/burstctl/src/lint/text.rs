//! Text for people, in the style of rustc's errors.

use std::borrow::Cow;
use std::io;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use burst_hpa::{ErrorType, Severity};
use burst_printable::Printable;

use crate::finding::{Finding, FindingKind};
use crate::input::SourceFile;
use crate::printer::Printer;
use burst_hpa::node::Span;

pub(super) fn write(findings: &[Finding], sources: &[SourceFile], printer: &mut Printer<'_>) -> io::Result<()> {
    let renderer = if printer.is_styled() {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let sources: Vec<(String, Vec<Cow<'_, str>>)> = sources.iter().map(printable).collect();
    for finding in findings {
        let (file, lines) = sources
            .get(finding.source)
            .map_or(("", &[][..]), |(file, lines)| (file, lines));
        let line = lines
            .get(finding.span.start.line.saturating_sub(1))
            .map_or("", AsRef::as_ref);
        let headline_prefix = format!("{}[{}]: ", finding.severity, finding.kind.rule()).len();
        let note_prefix = finding.span.start.line.to_string().len() + " = help: ".len();
        let raw = PrintableText {
            headline: wrapped(headline(finding), headline_prefix),
            title: wrapped(&title(finding), note_prefix),
            advice: finding.advice.as_ref().map(|advice| wrapped(advice, note_prefix)),
        };
        printer.rendered_lines(&renderer.render(&[report(finding, &raw, file, line)]))?;
        printer.line("")?;
    }
    Ok(())
}

/// Returns the name and the lines of a file, escaped. Each character stays one character, so columns do not move.
fn printable(source: &SourceFile) -> (String, Vec<Cow<'_, str>>) {
    // Most lines are ASCII, and checking bytes is fast.
    let is_plain = |line: &str| line.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let lines = source.text.lines().map(|line| match is_plain(line) {
        true => line.into(),
        false => Printable::whole(line).to_string().into(),
    });
    (Printable::new(&source.name).to_string(), lines.collect())
}

/// The width of the text, in columns. It does not depend on the terminal, so a log has the same lines.
const WIDTH: usize = 80;

/// Returns the text, escaped, on lines that fit beside a prefix. A long word, such as a path, is not broken.
fn wrapped(text: &str, prefix: usize) -> String {
    let options = textwrap::Options::new(WIDTH.saturating_sub(prefix))
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::fill(&Printable::new(text).to_string(), options)
}

/// The escaped text of a finding. The renderer does not escape titles.
struct PrintableText {
    headline: String,
    title: String,
    advice: Option<String>,
}

fn report<'a>(finding: &Finding, raw: &'a PrintableText, file: &'a str, line: &'a str) -> Group<'a> {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let marked = AnnotationKind::Primary.span(byte_range(line, finding.span));
    let snippet = Snippet::source(line)
        .line_start(finding.span.start.line)
        .path(file)
        .annotation(marked);
    let group = level
        .primary_title(&raw.headline)
        .id(finding.kind.rule())
        .element(snippet)
        .element(Level::NOTE.message(&raw.title));
    match &raw.advice {
        Some(advice) => group.element(Level::HELP.message(advice)),
        None => group,
    }
}

/// Returns what is wrong. kube-apiserver says no more about some fields than that they are required.
fn headline(finding: &Finding) -> &str {
    match finding.detail.as_str() {
        "" => verdict(finding),
        detail => detail,
    }
}

/// Returns the title of a finding, as in `shop/web: spec.maxReplicas: required value`.
pub(super) fn title(finding: &Finding) -> String {
    let parts = [finding.object.as_str(), finding.field.as_str(), verdict(finding)];
    parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(": ")
}

/// Returns the kind of a finding in words.
fn verdict(finding: &Finding) -> &'static str {
    match finding.kind {
        FindingKind::Syntax => "not YAML",
        FindingKind::Decode | FindingKind::Short | FindingKind::Values => "cannot be read",
        FindingKind::Invalid(ErrorType::Required) => "required value",
        FindingKind::Invalid(ErrorType::Invalid) => "invalid value",
        FindingKind::Invalid(ErrorType::Forbidden) => "forbidden",
        FindingKind::Invalid(ErrorType::NotSupported) => "unsupported value",
        FindingKind::Invalid(ErrorType::TooLong) => "too long",
        FindingKind::Lint(_) if finding.severity == Severity::Error => "never works",
        FindingKind::Lint(_) => "probably unintended",
        FindingKind::RelatedObject => "left out",
    }
}

/// Returns the part of the line to underline. A span over several lines is underlined on the first one only.
fn byte_range(line: &str, span: Span) -> std::ops::Range<usize> {
    let offset = |column: usize| {
        let mut characters = line.char_indices().map(|(index, _)| index);
        characters.nth(column.saturating_sub(1)).unwrap_or(line.len())
    };
    let start = offset(span.start.column);
    let end = if span.end.line == span.start.line {
        offset(span.end.column)
    } else {
        line.trim_end().len()
    };
    let shortest = line
        .get(start..)
        .and_then(|rest| rest.chars().next())
        .map_or(0, char::len_utf8);
    start..end.max(start + shortest)
}
