//! Tabs at the beginning of a line. Kubernetes' reader counts them neither as indentation nor as an empty line; ours
//! follows YAML 1.2, which lets some of them pass.

use std::ops::RangeInclusive;

use saphyr_parser::ScalarStyle;

use super::tree::Span;

/// The lines of a chunk that begin with a tab somewhere before their text, and which of them may.
#[derive(Debug, Default)]
pub(super) struct Tabs {
    /// Counted as in the file.
    lines: Vec<usize>,
    fine: Vec<RangeInclusive<usize>>,
}

impl Tabs {
    pub(super) fn of(chunk: &str, lines_above: usize) -> Self {
        if !chunk.contains('\t') {
            return Self::default();
        }
        let begins = |line: &str| {
            let indentation = line.bytes().take_while(|byte| b" \t-?:".contains(byte));
            indentation.into_iter().any(|byte| byte == b'\t')
        };
        let lines = chunk.split('\n').enumerate().filter(|(_, line)| begins(line));
        Self {
            lines: lines.map(|(index, _)| lines_above + index + 1).collect(),
            fine: Vec::new(),
        }
    }

    /// In brackets a tab is white space, and so it is where quoted text goes on.
    pub(super) fn allow_after_first(&mut self, span: Span) {
        self.allow(span.start.line + 1..=span.end.line);
    }

    /// In block text a tab is text, once the first line has shown how far it is indented.
    pub(super) fn allow_in_text(&mut self, span: Span, style: ScalarStyle, text: &str) {
        match style {
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => self.allow_after_first(span),
            ScalarStyle::Literal | ScalarStyle::Folded if indents(text) => {
                self.allow(span.start.line..=span.end.line.saturating_sub(1).max(span.start.line));
            }
            _ => {}
        }
    }

    fn allow(&mut self, lines: RangeInclusive<usize>) {
        if !self.lines.is_empty() && !lines.is_empty() {
            self.fine.push(lines);
        }
    }

    /// The first line where a tab stands that Kubernetes would refuse.
    pub(super) fn refused(&self) -> Option<usize> {
        let fine = |line: &&usize| !self.fine.iter().any(|lines| lines.contains(line));
        self.lines.iter().find(fine).copied()
    }
}

/// Whether the first line of a block text shows by spaces how far it is indented.
fn indents(text: &str) -> bool {
    text.trim_start_matches('\n')
        .chars()
        .next()
        .is_some_and(|first| first != '\t')
}

/// The chunk with spaces for the tabs between a key's colon and the place where the parser, to which only a space counts
/// there, has stopped; `None` if it stopped for something else.
pub(super) fn spaced(chunk: &str, stopped_at: usize) -> Option<String> {
    let mut places = chunk.char_indices().map(|(place, _)| place).chain([chunk.len()]);
    let (before, after) = chunk.split_at_checked(places.nth(stopped_at)?)?;
    let colon = before.trim_end_matches(['\t', ' ']);
    let blank = before.get(colon.len()..)?;
    let key = colon.rsplit('\n').next()?.strip_suffix(':')?;
    let has_key = !key.trim_matches([' ', '-', '?', ':']).is_empty();
    (has_key && blank.contains('\t')).then(|| format!("{colon}{}{after}", " ".repeat(blank.len())))
}
