//! What the parser's YAML 1.2 and Kubernetes' YAML 1.1 read differently is refused, so that nothing is ever misread:
//! `tests/yaml` holds that against Kubernetes' own reader. Hardly anything of this is found in a manifest that a person
//! wrote.

use saphyr_parser::Tag;

use super::build::{Builder, error};
use super::characters;
use super::split::{says_nothing, shifted};
use super::tag::OF_SCALARS;
use super::tree::{Key, Mark, Span, SyntaxError};

/// What shows without a parser.
pub(super) fn chunk(chunk: &str, lines_above: usize) -> Result<(), SyntaxError> {
    characters::check(chunk, lines_above)?;
    let Some((number, line)) = chunk.lines().enumerate().find(|(_, line)| !says_nothing(line)) else {
        return Ok(());
    };
    let message = if line.starts_with('%') {
        "kubectl cuts a file at each `---`, also at the one below a directive, and so takes none"
    } else if line.strip_prefix("...").is_some_and(begins_by_space) {
        "`...` ends a document, and there is none"
    } else {
        return Ok(());
    };
    Err(error(shifted(number + 1, 0, lines_above), message))
}

fn begins_by_space(text: &str) -> bool {
    text.is_empty() || text.starts_with(char::is_whitespace)
}

impl Builder<'_> {
    /// Without quotes and in brackets some signs are text to the parser, and not to Kubernetes' reader or the other way.
    pub(super) fn refuse_in_brackets(&self, text: &str, at: Mark) -> Result<(), SyntaxError> {
        if text.contains('?') || text.starts_with([':', '>', '|']) {
            return Err(error(at, format!("{text:?} in brackets needs quotes")));
        }
        if text.is_empty() {
            let (before, after) = self.before_and_after(at);
            let behind = after.strip_prefix(':').or(before.ends_with(':').then_some(after));
            if behind.is_some_and(|behind| behind.starts_with([',', ']', '}'])) {
                return Err(error(at, "`:` in brackets needs a space behind it"));
            }
        }
        Ok(())
    }

    pub(super) fn behind_properties(&self, at: Mark) -> Result<&str, SyntaxError> {
        behind_properties(self.before_and_after(at).1.trim_start()).map_err(|message| error(at, message))
    }

    /// Whether a list or an object is written in brackets. Below the line of its anchor or tag they would be taken for
    /// those of what is in it.
    pub(super) fn begins_in_brackets(&self, at: Mark) -> Result<bool, SyntaxError> {
        let mut behind = self.behind_properties(at)?;
        if behind.starts_with(['[', '{']) {
            return Ok(true);
        }
        let mut line = at.line;
        while says_nothing(behind) && line < self.last_line() {
            line += 1;
            behind = self.behind_properties(Mark { line, column: 1 })?;
        }
        match behind.starts_with(['[', '{']) {
            true => Err(error(at, "brackets below the line of their anchor or tag")),
            false => Ok(false),
        }
    }

    /// To Kubernetes' reader the commas and brackets behind a tag belong to it.
    pub(super) fn refuse_tag_in_brackets(&self, tag: Option<&Tag>, at: Mark) -> Result<(), SyntaxError> {
        let Some(tag) = tag else { return Ok(()) };
        let behind = self.behind_properties(at)?;
        if tag.is_yaml_core_schema() {
            return Ok(());
        }
        if self.is_in_flow() || behind.starts_with(['[', '{']) {
            return Err(error(at, "a tag of your own at brackets"));
        }
        Ok(())
    }

    pub(super) fn refuse_tag_of_collection(&self, tag: Option<&Tag>, at: Mark) -> Result<(), SyntaxError> {
        self.refuse_tag_in_brackets(tag, at)?;
        let fitting = |tag: &Tag| !tag.is_yaml_core_schema() || !OF_SCALARS.contains(&tag.suffix.as_str());
        match tag.is_none_or(fitting) {
            true => Ok(()),
            false => Err(error(at, "a tag of a single value before many")),
        }
    }

    /// Kubernetes' reader wants the colon on the line of the key.
    pub(super) fn refuse_late_colon(&self, key: &Key, value: Span) -> Result<(), SyntaxError> {
        let end = key.span.end;
        if !self.is_in_flow() || value.start.line == end.line && key.span.start.line == end.line {
            return Ok(());
        }
        let one_line = key.span.start.line == end.line;
        match one_line
            && self
                .before_and_after(end)
                .1
                .trim_start()
                .starts_with([':', ',', '}', ']'])
        {
            true => Ok(()),
            false => Err(error(end, "a key in brackets, and its `:` on another line")),
        }
    }

    /// The parser knows the escape of YAML 1.2, which Kubernetes' does not.
    pub(super) fn refuse_slash(&self, span: Span) -> Result<(), SyntaxError> {
        for line in span.start.line..=span.end.line {
            let column = if line == span.start.line { span.start.column } else { 1 };
            let (_, text) = self.before_and_after(Mark { line, column });
            let mut characters = text.chars();
            while let Some(character) = characters.next() {
                if character == '\\' && characters.next() == Some('/') {
                    return Err(error(span.start, "`\\/` is no escape to Kubernetes: write `/`"));
                }
            }
        }
        Ok(())
    }

    pub(super) fn refuse_tab_in_header(&self, at: Mark) -> Result<(), SyntaxError> {
        let tab_in_header = |line: usize| {
            let (_, text) = self.before_and_after(Mark { line, column: 1 });
            let behind = text
                .rsplit(['|', '>'])
                .next()
                .filter(|behind| behind.len() < text.len());
            behind.is_some_and(|behind| {
                behind
                    .trim_start_matches(|c: char| c.is_ascii_digit() || " +-".contains(c))
                    .starts_with('\t')
            })
        };
        if tab_in_header(at.line) || tab_in_header(at.line.saturating_sub(1)) {
            return Err(error(at, "a tab behind the sign of block text"));
        }
        Ok(())
    }
}

/// What stands behind the anchor and the tag of a value.
fn behind_properties(text: &str) -> Result<&str, &'static str> {
    let mut rest = text;
    while let Some(sign) = rest.chars().next().filter(|sign| "&!".contains(*sign)) {
        let end = rest.find(|c: char| c.is_whitespace() || c == '[' || c == '{');
        let (word, behind) = rest.split_at(end.unwrap_or(rest.len()));
        let fine = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c) || sign == '!' && "!/.:".contains(c);
        if !word.chars().skip(1).all(fine) {
            return Err("an anchor or a tag of other than letters, digits, `-` and `_`");
        }
        if behind.starts_with(['[', '{']) {
            return Err("a bracket without a space before it");
        }
        rest = behind.trim_start();
    }
    Ok(rest)
}
