//! From the events of the parser to trees, without recursion and with an end to aliases of aliases.

use std::borrow::Cow;
use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span as ParserSpan};

use super::split::shifted;
use super::tabs::{self, Tabs};
use super::tag::{binary, scalar};
use super::tree::{Key, Mark, Span, SyntaxError, Tree, Value};
use super::{merge, refuse};

/// How deep a document may nest. An HPA needs 12.
const DEEPEST: usize = 96;

/// How many values aliases may stand for in a document: some thousand objects, and not all of the memory.
const MOST_ALIASED: usize = 200_000;

pub(super) type Content = Result<Option<Tree>, SyntaxError>;

/// Tabs behind the colons of one document; an editor that aligns values with them leaves a few.
const MOST_TABS: usize = 100;

/// Hands each document of a chunk to `take`; nothing more after one that cannot be read.
pub(super) fn documents(chunk: &str, lines_above: usize, take: &mut dyn FnMut(Content)) {
    if let Err(error) = refuse::chunk(chunk, lines_above) {
        return take(Err(error));
    }
    let mut text = Cow::Borrowed(chunk);
    let mut contents = Vec::new();
    for _ in 0..MOST_TABS {
        let (read, stopped_at) = read(&text, lines_above);
        contents = read;
        match stopped_at.and_then(|at| tabs::spaced(&text, at)) {
            Some(spaced) => text = Cow::Owned(spaced),
            None => break,
        }
    }
    contents.into_iter().for_each(take);
}

/// The documents of a chunk, and where the parser stopped, if it did.
fn read(chunk: &str, lines_above: usize) -> (Vec<Content>, Option<usize>) {
    let mut builder = Builder::new(chunk, lines_above);
    let mut parser = Parser::new_from_str(chunk);
    let mut contents = Vec::new();
    while let Some(event) = parser.next_event() {
        let (event, span) = match event {
            Ok(event) => event,
            Err(error) => {
                contents.push(Err(builder.refused(&error)));
                return (contents, Some(error.marker().index()));
            }
        };
        match builder.event(event, span) {
            Ok(Some(Done::Document(Some(tree)))) if !contents.is_empty() => {
                let message = "text behind `...`, which Kubernetes does not read";
                contents.push(Err(error(tree.span.start, message)));
                break;
            }
            Ok(Some(Done::Document(tree))) => contents.push(Ok(tree)),
            Ok(Some(Done::Stream)) => break,
            Ok(None) => {}
            Err(error) => {
                contents.push(Err(error));
                break;
            }
        }
    }
    (contents, None)
}

enum Done {
    Document(Option<Tree>),
    Stream,
}

pub(super) struct Builder<'a> {
    lines: Vec<&'a str>,
    lines_above: usize,
    open: Vec<Open>,
    root: Option<Tree>,
    /// Finished values with an anchor, and how many values are in each.
    anchors: HashMap<usize, (Tree, usize)>,
    aliased: usize,
    tabs: Tabs,
    /// Somewhere there is a `\/`.
    escapes_slashes: bool,
}

/// A list or an object that is not finished.
struct Open {
    start: Mark,
    /// In brackets, where white space means nothing.
    is_flow: bool,
    anchor: usize,
    count: usize,
    kind: Kind,
}

enum Kind {
    List(Vec<Tree>),
    Object(Vec<(Key, Tree)>, Option<Key>),
}

impl<'a> Builder<'a> {
    fn new(chunk: &'a str, lines_above: usize) -> Self {
        Self {
            lines: chunk.lines().collect(),
            lines_above,
            open: Vec::new(),
            root: None,
            anchors: HashMap::new(),
            aliased: 0,
            tabs: Tabs::of(chunk, lines_above),
            escapes_slashes: chunk.contains("\\/"),
        }
    }

    fn event(&mut self, event: Event<'_>, span: ParserSpan) -> Result<Option<Done>, SyntaxError> {
        let span = self.span(span);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                if text == "<<" && (tag.is_some() && self.expects_key() || anchor > 0 && style == ScalarStyle::Plain) {
                    return Err(error(span.start, "an anchor or a tag before `<<`"));
                }
                if anchor == 0 && tag.is_none() {
                    self.tabs.allow_in_text(span, style, &text);
                } else {
                    self.behind_properties(span.start)?;
                }
                self.refuse_tag_in_brackets(tag.as_deref(), span.start)?;
                if style == ScalarStyle::Plain && self.is_in_flow() {
                    self.refuse_in_brackets(&text, span.start)?;
                }
                match style {
                    ScalarStyle::DoubleQuoted if self.escapes_slashes => self.refuse_slash(span)?,
                    ScalarStyle::Literal | ScalarStyle::Folded if self.open.is_empty() => {
                        return Err(error(span.start, "a document that is nothing but block text"));
                    }
                    ScalarStyle::Literal | ScalarStyle::Folded => self.refuse_tab_in_header(span.start)?,
                    _ => {}
                }
                let refused = |message: &str| error(span.start, message);
                let decoded = binary(&text, tag.as_deref()).map_err(refused)?;
                let text = decoded.as_deref().unwrap_or(&text);
                let scalar = scalar(text, style, tag.as_deref()).map_err(|message| refused(&message))?;
                let value = if self.expects_key() {
                    scalar.key().map(Value::String)
                } else {
                    scalar.value()
                };
                let value = value.map_err(refused)?;
                self.anchored(anchor, Tree { value, span }, 1)?;
            }
            Event::SequenceStart(anchor, tag) => {
                self.refuse_tag_of_collection(tag.as_deref(), span.start)?;
                self.begin(anchor, span, Kind::List(Vec::new()))?;
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse_tag_of_collection(tag.as_deref(), span.start)?;
                self.begin(anchor, span, Kind::Object(Vec::new(), None))?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(span)?,
            Event::Alias(anchor) => self.alias(anchor, span)?,
            Event::DocumentEnd => {
                self.refuse_tabs()?;
                self.anchors.clear();
                let tree = self.root.take().filter(|tree| tree.value != Value::Null);
                return Ok(Some(Done::Document(tree)));
            }
            Event::StreamEnd => {
                // Where there is no document, too.
                self.refuse_tabs()?;
                return Ok(Some(Done::Stream));
            }
            Event::Nothing | Event::StreamStart | Event::DocumentStart(_) => {}
        }
        Ok(None)
    }

    fn refuse_tabs(&self) -> Result<(), SyntaxError> {
        match self.tabs.refused() {
            Some(line) => Err(error(Mark { line, column: 1 }, "a tab where YAML indents with spaces")),
            None => Ok(()),
        }
    }

    fn begin(&mut self, anchor: usize, span: Span, kind: Kind) -> Result<(), SyntaxError> {
        if self.open.len() >= DEEPEST {
            return Err(error(span.start, format!("nested deeper than {DEEPEST} levels")));
        }
        let is_flow = self.begins_in_brackets(span.start)? || self.is_in_flow();
        self.open.push(Open {
            start: span.start,
            is_flow,
            anchor,
            count: 1,
            kind,
        });
        Ok(())
    }

    fn end(&mut self, span: Span) -> Result<(), SyntaxError> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let (value, end) = match open.kind {
            Kind::List(items) => {
                let end = items.last().map_or(span.end, |last| last.span.end);
                (Value::List(items), end)
            }
            Kind::Object(fields, _) => {
                let end = fields.last().map_or(span.end, |(_, last)| last.span.end);
                (Value::Object(merge::merged(fields)?), end)
            }
        };
        if open.is_flow && self.open.is_empty() {
            self.tabs.allow_after_first(Span {
                start: open.start,
                end: span.end,
            });
        }
        let span = Span { start: open.start, end };
        self.anchored(open.anchor, Tree { value, span }, open.count)
    }

    fn anchored(&mut self, anchor: usize, tree: Tree, count: usize) -> Result<(), SyntaxError> {
        if anchor > 0 {
            self.anchors.insert(anchor, (tree.clone(), count));
        }
        self.place(tree, count)
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<(), SyntaxError> {
        let Some((tree, count)) = self.anchors.get(&anchor) else {
            return Err(error(span.start, "an alias within the value it stands for"));
        };
        self.aliased = self.aliased.saturating_add(*count);
        if self.aliased > MOST_ALIASED {
            return Err(error(
                span.start,
                format!("aliases stand for more than {MOST_ALIASED} values"),
            ));
        }
        let (mut tree, count) = (tree.clone(), *count);
        tree.span = span;
        if let Some(Kind::Object(_, Some(key))) = self.open.last().map(|open| &open.kind) {
            merge::check_alias(key, &tree)?;
        }
        self.place(tree, count)
    }

    /// The line of a place, cut there.
    pub(super) fn before_and_after(&self, at: Mark) -> (&str, &str) {
        let line = at
            .line
            .checked_sub(self.lines_above + 1)
            .and_then(|index| self.lines.get(index));
        let line = line.copied().unwrap_or_default();
        let cut = line
            .char_indices()
            .nth(at.column.saturating_sub(1))
            .map_or(line.len(), |(index, _)| index);
        line.split_at(cut)
    }

    pub(super) fn last_line(&self) -> usize {
        self.lines_above + self.lines.len()
    }

    pub(super) fn is_in_flow(&self) -> bool {
        self.open.last().is_some_and(|open| open.is_flow)
    }

    fn expects_key(&self) -> bool {
        let open = self.open.last().map(|open| &open.kind);
        matches!(open, Some(Kind::Object(_, None)))
    }

    fn place(&mut self, tree: Tree, count: usize) -> Result<(), SyntaxError> {
        if let Some(Kind::Object(_, Some(key))) = self.open.last().map(|open| &open.kind) {
            self.refuse_late_colon(key, tree.span)?;
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(tree);
            return Ok(());
        };
        open.count = open.count.saturating_add(count);
        match &mut open.kind {
            Kind::List(items) => items.push(tree),
            Kind::Object(fields, waiting) => match waiting.take() {
                Some(key) => fields.push((key, tree)),
                None => *waiting = Some(key(tree)?),
            },
        }
        Ok(())
    }

    fn span(&self, span: ParserSpan) -> Span {
        let mark = |mark: saphyr_parser::Marker| shifted(mark.line(), mark.col(), self.lines_above);
        Span {
            start: mark(span.start),
            end: mark(span.end),
        }
    }

    fn refused(&self, refused: &ScanError) -> SyntaxError {
        let at = refused.marker();
        error(shifted(at.line(), at.col(), self.lines_above), refused.info())
    }
}

/// JSON knows only text as key.
fn key(tree: Tree) -> Result<Key, SyntaxError> {
    let name = match tree.value {
        Value::String(text) | Value::Number(text) => text,
        Value::Bool(value) => value.to_string(),
        Value::Null | Value::List(_) | Value::Object(_) => {
            return Err(error(
                tree.span.start,
                "a key that is neither text nor a number nor a boolean",
            ));
        }
    };
    Ok(Key { name, span: tree.span })
}

pub(super) fn error(at: Mark, message: impl Into<String>) -> SyntaxError {
    SyntaxError {
        at,
        message: message.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::documents;

    fn read(text: &str) -> Result<serde_json::Value, SyntaxError> {
        let mut documents = documents(text);
        documents.remove(0).content.map(|tree| tree.to_json())
    }

    #[test]
    fn aliases_stand_for_their_values_and_merged_keys_are_filled_in() {
        let text = "base: &base {a: 1, b: 2}\nsame: *base\nmore: {<<: *base, b: 3}\nmany: {<<: [{c: 4}, *base]}\n";
        let expected = serde_json::json!({
            "base": {"a": 1, "b": 2}, "same": {"a": 1, "b": 2}, "more": {"a": 1, "b": 3}, "many": {"a": 1, "b": 2, "c": 4},
        });
        assert_eq!(read(text).unwrap(), expected);
    }

    #[test]
    fn quoted_and_tagged_text_stays_text() {
        let text = "a: 'on'\nb: \"010\"\nc: !!str 5\nd: !!float 5\n5: on\ntrue: x\n";
        assert_eq!(
            read(text).unwrap(),
            serde_json::json!({"a": "on", "b": "010", "c": "5", "d": 5, "5": true, "true": "x"})
        );
    }

    #[test]
    fn a_thousand_million_laughs_are_refused() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for n in 1..10 {
            let list = vec![format!("*a{}", n - 1); 10].join(", ");
            text.push_str(&format!("a{n}: &a{n} [{list}]\n"));
        }
        assert!(
            read(&text)
                .unwrap_err()
                .message
                .starts_with("aliases stand for more than")
        );
    }

    #[test]
    fn deep_nesting_is_refused_and_not_followed() {
        assert_eq!(
            read(&"- ".repeat(200)).unwrap_err().message,
            "nested deeper than 96 levels"
        );
        assert!(read(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn an_alias_within_itself_is_refused() {
        assert_eq!(
            read("a: &a [*a]\n").unwrap_err().message,
            "an alias within the value it stands for"
        );
    }
}
