//! Parses YAML 1.1 into events with `libyaml-safer`. It derives from libyaml, as the reader of Kubernetes does.
//!
//! It differs from that reader in two cases: `?` in brackets and `\/` in quotes. This module refuses both.

use burst_hpa::node::{Mark, Span};
use std::borrow::Cow;

use libyaml_safer::{Encoding, Event, EventData, MappingStyle, Parser, ScalarStyle, SequenceStyle};

use super::document::{SyntaxError, error};
use super::lines::position_in_file;

/// A chunk of a file that can be parsed without a panic.
///
/// libyaml-safer 0.3 panics where a comma directly follows a tag in brackets, as in `[!a,b]`. So the parser gets a
/// placeholder for the `!` of everything that looks like such a tag, and text gets its `!` back.
pub(super) struct Source<'a> {
    text: Cow<'a, str>,
    placeholder: Option<char>,
    lines_above: usize,
}

impl<'a> Source<'a> {
    pub(super) fn new(chunk: &'a str, lines_above: usize) -> Self {
        let looks_like_tag = |(at, _): &(usize, &str)| ends_at_comma(chunk.get(at + 1..).unwrap_or_default());
        let signs: Vec<usize> = chunk
            .match_indices('!')
            .filter(looks_like_tag)
            .map(|(at, _)| at)
            .collect();
        let placeholder = match signs.is_empty() {
            true => None,
            false => ('\u{e000}'..='\u{f8ff}').find(|private| !chunk.contains(*private)),
        };
        let text = match placeholder {
            None => Cow::Borrowed(chunk),
            Some(placeholder) => {
                let hidden = |(at, character)| {
                    if signs.binary_search(&at).is_ok() {
                        placeholder
                    } else {
                        character
                    }
                };
                chunk.char_indices().map(hidden).collect()
            }
        };
        Self {
            text,
            placeholder,
            lines_above,
        }
    }

    pub(super) fn events(&self) -> Events<'_> {
        let mut parser = Parser::new();
        parser.set_encoding(Encoding::Utf8);
        parser.set_input(self.text.as_bytes());
        Events {
            parser,
            source: self,
            open_brackets: 0,
        }
    }
}

/// Returns whether the rest of a tag, without its `!`, ends at a comma.
fn ends_at_comma(rest: &str) -> bool {
    let behind = match rest.strip_prefix('<') {
        Some(verbatim) => verbatim
            .trim_start_matches(|c| in_tag(c) || ",[]".contains(c))
            .strip_prefix('>'),
        None => Some(rest.trim_start_matches(in_tag)),
    };
    behind.is_some_and(|behind| behind.starts_with(','))
}

fn in_tag(character: char) -> bool {
    character.is_ascii_alphanumeric() || "-_;/?:@&=+$.%!~*'()".contains(character)
}

/// The events of a chunk, each with its position in the file.
pub(super) struct Events<'a> {
    parser: Parser<&'a [u8]>,
    source: &'a Source<'a>,
    /// Whether each list or object around the next event is in brackets.
    open_brackets: usize,
}

impl Iterator for Events<'_> {
    type Item = Result<(EventData, Span), SyntaxError>;

    fn next(&mut self) -> Option<Self::Item> {
        let event = self.parser.next()?;
        Some(
            event
                .map_err(|refused| self.refused(&refused))
                .and_then(|event| self.checked(event)),
        )
    }
}

impl Events<'_> {
    fn checked(&mut self, event: Event) -> Result<(EventData, Span), SyntaxError> {
        let span = Span {
            start: self.mark(event.start_mark),
            end: self.mark(event.end_mark),
        };
        let mut data = event.data;
        match &mut data {
            EventData::SequenceStart { style, .. } => self.open(*style == SequenceStyle::Flow),
            EventData::MappingStart { style, .. } => self.open(*style == MappingStyle::Flow),
            EventData::SequenceEnd | EventData::MappingEnd => self.open_brackets = self.open_brackets.saturating_sub(1),
            EventData::Scalar { value, style, .. } => {
                let is_plain = *style == ScalarStyle::Plain;
                self.restore_tag_sign(value, is_plain, span.start)?;
                if is_plain && self.open_brackets > 0 && value.contains('?') {
                    return Err(error(span.start, format!("{value:?} in brackets needs quotes")));
                }
                if *style == ScalarStyle::DoubleQuoted && self.has_escaped_slash(event.start_mark, event.end_mark) {
                    return Err(error(
                        span.start,
                        "Kubernetes does not know the escape `\\/`: write `/`",
                    ));
                }
            }
            _ => {}
        }
        Ok((data, span))
    }

    /// Enters a list or an object. Inside brackets, everything is in brackets.
    fn open(&mut self, in_brackets: bool) {
        if in_brackets || self.open_brackets > 0 {
            self.open_brackets += 1;
        }
    }

    fn restore_tag_sign(&self, text: &mut String, is_plain: bool, at: Mark) -> Result<(), SyntaxError> {
        let Some(placeholder) = self
            .source
            .placeholder
            .filter(|placeholder| text.contains(*placeholder))
        else {
            return Ok(());
        };
        if is_plain && text.starts_with(placeholder) {
            return Err(error(at, "a comma directly behind a tag"));
        }
        *text = text.replace(placeholder, "!");
        Ok(())
    }

    fn has_escaped_slash(&self, start: libyaml_safer::Mark, end: libyaml_safer::Mark) -> bool {
        let quoted = usize::try_from(start.index)
            .ok()
            .zip(usize::try_from(end.index).ok())
            .and_then(|(start, end)| self.source.text.get(start..end))
            .unwrap_or_default();
        // In `\\/` the first backslash escapes the second.
        quoted.contains("\\/") && quoted.replace("\\\\", "").contains("\\/")
    }

    fn refused(&self, refused: &libyaml_safer::Error) -> SyntaxError {
        let at = refused
            .problem_mark()
            .map_or(position_in_file(1, 0, self.source.lines_above), |mark| self.mark(mark));
        match refused.context() {
            Some(context) => error(at, format!("{} {context}", refused.problem())),
            None => error(at, refused.problem()),
        }
    }

    fn mark(&self, mark: libyaml_safer::Mark) -> Mark {
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        position_in_file(number(mark.line) + 1, number(mark.column), self.source.lines_above)
    }
}
