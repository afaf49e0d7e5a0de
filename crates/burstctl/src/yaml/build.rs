//! Builds nodes from the events of the parser, without recursion and with a limit on nested aliases.

use burst_hpa::node::{Key, Mark, Node, NodeValue, Span};
use std::collections::HashMap;

use libyaml_safer::EventData;

use super::document::{SyntaxError, error};
use super::lines::{is_blank_or_comment, position_in_file};
use super::merge::Fields;
use super::parser::Source;
use super::{characters, tag};

/// The maximum nesting depth of a document. An HPA needs 12.
const MAX_DEPTH: usize = 96;

/// The maximum number of values that the aliases of a document may expand to. It bounds the memory, and is enough for
/// a few thousand objects.
const MAX_ALIASED_VALUES: usize = 200_000;

/// One document; `None` if it has no value.
pub(super) type Content = Result<Option<Node>, SyntaxError>;

/// Passes each document of a chunk to `take`, up to and including the first error.
pub(super) fn documents(chunk: &str, lines_above: usize, take: &mut dyn FnMut(Content)) {
    if let Err(error) = characters::check(chunk, lines_above).and_then(|()| check_directive(chunk, lines_above)) {
        return take(Err(error));
    }
    let source = Source::new(chunk, lines_above);
    let mut builder = Builder::default();
    let mut is_first = true;
    for event in source.events() {
        match event.and_then(|(event, span)| builder.event(event, span)) {
            Ok(None) => {}
            Ok(Some(Complete(Some(tree)))) if !is_first => {
                let message = "text behind `...`, which Kubernetes does not read";
                return take(Err(error(tree.span().start, message)));
            }
            Ok(Some(Complete(tree))) => {
                is_first = false;
                take(Ok(tree));
            }
            Err(error) => return take(Err(error)),
        }
    }
}

/// Rejects a directive. The split at `---` separates it from its document, which YAML does not allow.
fn check_directive(chunk: &str, lines_above: usize) -> Result<(), SyntaxError> {
    match chunk.lines().enumerate().find(|(_, line)| !is_blank_or_comment(line)) {
        Some((index, line)) if line.starts_with('%') => {
            let message =
                "kubectl splits a file at each `---`, also at the one below a directive, so a directive is not allowed";
            Err(error(position_in_file(index + 1, 0, lines_above), message))
        }
        _ => Ok(()),
    }
}

/// A complete document.
struct Complete(Option<Node>);

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    root: Option<Node>,
    anchors: HashMap<String, Anchored>,
    aliased_values: usize,
}

/// The value that an anchor names.
#[derive(Clone)]
enum Anchored {
    /// A list or an object that is not complete. An alias of it would be infinite.
    Open,
    /// A value, and the number of values in it.
    Complete(Node, usize),
}

/// A list or an object that is not complete.
struct Open {
    start: Mark,
    anchor: Option<String>,
    count: usize,
    kind: Kind,
}

enum Kind {
    List(Vec<Node>),
    Object(Fields, Option<PendingKey>),
}

/// A key whose value comes next.
enum PendingKey {
    Name(Key),
    /// `<<`
    Merge(Span),
}

impl Builder {
    fn event(&mut self, event: EventData, span: Span) -> Result<Option<Complete>, SyntaxError> {
        match event {
            EventData::Scalar {
                anchor,
                tag,
                value,
                plain_implicit,
                ..
            } => {
                let text = tag::Text {
                    text: value,
                    tag,
                    is_plain: plain_implicit,
                };
                self.scalar(anchor, &text, span)?;
            }
            EventData::SequenceStart { anchor, .. } => self.begin(anchor, span, Kind::List(Vec::new()))?,
            EventData::MappingStart { anchor, .. } => {
                self.begin(anchor, span, Kind::Object(Fields::default(), None))?;
            }
            EventData::SequenceEnd | EventData::MappingEnd => self.end(span)?,
            EventData::Alias { anchor } => self.alias(&anchor, span)?,
            EventData::DocumentEnd { .. } => {
                self.anchors.clear();
                let tree = self.root.take().filter(|tree| tree.value != NodeValue::Null);
                return Ok(Some(Complete(tree)));
            }
            EventData::StreamStart { .. } | EventData::DocumentStart { .. } | EventData::StreamEnd => {}
        }
        Ok(None)
    }

    fn scalar(&mut self, anchor: Option<String>, text: &tag::Text, span: Span) -> Result<(), SyntaxError> {
        if self.expects_key() && text.is_merge() {
            let value = NodeValue::String(text.text.clone());
            self.set_anchor(
                anchor,
                &Node {
                    value,
                    span: Some(span),
                },
            );
            self.set_pending(PendingKey::Merge(span));
            return Ok(());
        }
        let decoded = text.decoded().map_err(|message| error(span.start, message))?;
        let scalar = text.resolve(&decoded).map_err(|message| error(span.start, message))?;
        let value = match self.expects_key() {
            true => scalar.key().map(NodeValue::String),
            false => scalar.value(),
        };
        let tree = Node {
            value: value.map_err(|message| error(span.start, message))?,
            span: Some(span),
        };
        self.set_anchor(anchor, &tree);
        self.add(tree, 1)
    }

    fn set_anchor(&mut self, anchor: Option<String>, scalar: &Node) {
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, Anchored::Complete(scalar.clone(), 1));
        }
    }

    fn begin(&mut self, anchor: Option<String>, span: Span, kind: Kind) -> Result<(), SyntaxError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(error(span.start, format!("nested deeper than {MAX_DEPTH} levels")));
        }
        if let Some(anchor) = &anchor {
            self.anchors.insert(anchor.clone(), Anchored::Open);
        }
        self.open.push(Open {
            start: span.start,
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
                let end = items.last().map_or(span.end, |last| last.span().end);
                (NodeValue::List(items), end)
            }
            Kind::Object(fields, _) => {
                let fields = fields.into_vec();
                let end = fields.last().map_or(span.end, |(_, last)| last.span().end);
                (NodeValue::Object(fields), end)
            }
        };
        let tree = Node {
            value,
            span: Some(Span { start: open.start, end }),
        };
        // An anchor of the same name within this value has replaced this one.
        if let Some(anchored @ Anchored::Open) = open.anchor.and_then(|anchor| self.anchors.get_mut(&anchor)) {
            *anchored = Anchored::Complete(tree.clone(), open.count);
        }
        self.add(tree, open.count)
    }

    fn alias(&mut self, anchor: &str, span: Span) -> Result<(), SyntaxError> {
        let (tree, count) = match self.anchors.get(anchor) {
            Some(Anchored::Complete(tree, count)) => (tree, *count),
            Some(Anchored::Open) => return Err(error(span.start, "an alias within the value it stands for")),
            None => {
                return Err(error(
                    span.start,
                    format!("there is no anchor {anchor:?} before this alias"),
                ));
            }
        };
        self.aliased_values = self.aliased_values.saturating_add(count);
        if self.aliased_values > MAX_ALIASED_VALUES {
            let message = format!("aliases stand for more than {MAX_ALIASED_VALUES} values");
            return Err(error(span.start, message));
        }
        let tree = Node {
            value: tree.value.clone(),
            span: Some(span),
        };
        if let Some(Kind::Object(_, Some(PendingKey::Merge(_)))) = self.open.last().map(|open| &open.kind) {
            Fields::check_merged_alias(&tree)?;
        }
        self.add(tree, count)
    }

    fn expects_key(&self) -> bool {
        let innermost = self.open.last().map(|open| &open.kind);
        matches!(innermost, Some(Kind::Object(_, None)))
    }

    fn set_pending(&mut self, key: PendingKey) {
        if let Some(Kind::Object(_, pending)) = self.open.last_mut().map(|open| &mut open.kind) {
            *pending = Some(key);
        }
    }

    /// Adds a value to the innermost list or object, as an item, a key or the value of a field.
    fn add(&mut self, tree: Node, count: usize) -> Result<(), SyntaxError> {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(tree);
            return Ok(());
        };
        open.count = open.count.saturating_add(count);
        match &mut open.kind {
            Kind::List(items) => items.push(tree),
            Kind::Object(fields, pending) => match pending.take() {
                Some(PendingKey::Name(key)) => fields.insert(key, tree),
                Some(PendingKey::Merge(span)) => fields.merge(span, tree)?,
                None => *pending = Some(PendingKey::Name(key(tree)?)),
            },
        }
        Ok(())
    }
}

/// Converts a node to a key. Keys in JSON are strings.
fn key(tree: Node) -> Result<Key, SyntaxError> {
    let name = match tree.value {
        NodeValue::String(text) | NodeValue::Number(text) => text,
        NodeValue::Bool(value) => value.to_string(),
        NodeValue::Null | NodeValue::List(_) | NodeValue::Object(_) => {
            return Err(error(
                tree.span().start,
                "a key that is neither text nor a number nor a boolean",
            ));
        }
    };
    Ok(Key { name, span: tree.span })
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
    fn aliases_are_expanded_and_merge_keys_are_applied() {
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
    fn a_billion_laughs_are_refused() {
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
    fn deep_nesting_is_refused_without_recursion() {
        assert_eq!(
            read(&"- ".repeat(200)).unwrap_err().message,
            "nested deeper than 96 levels"
        );
        assert!(read(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn a_tag_before_a_comma_is_refused_and_text_like_one_is_not() {
        let error = read("a: [!b,c]\n").unwrap_err();
        assert_eq!(error.to_string(), "1:5: a comma directly behind a tag");
        let text = "a: [x!b,c, 'é !d,'] # !e,\nf: |\n  \u{e000}!g,\n";
        let expected = serde_json::json!({"a": ["x!b", "c", "é !d,"], "f": "\u{e000}!g,\n"});
        assert_eq!(read(text).unwrap(), expected);
    }

    #[test]
    fn an_alias_is_the_last_value_with_its_anchor() {
        let error = read("a: &x {b: &x 1}\nc: {<<: *x}\n").unwrap_err();
        assert_eq!(error.message, "`<<` takes an object or a list of objects");
        assert!(read("a: &x {b: 1}\nc: {&x <<: *x}\n").is_err());
    }

    #[test]
    fn a_path_gives_the_position_of_its_value_or_of_the_nearest_parent() {
        let text = "spec:\n  metrics:\n  - type: Pods\n    type: Resource\n  labels: {a.b/c: 1}\n";
        let tree = documents(text).remove(0).content.unwrap();
        let at = |path| {
            let start = tree.value_span(path).start;
            (start.line, start.column)
        };
        assert_eq!(at("spec.metrics[0].type"), (4, 11));
        assert_eq!(at("spec.metrics[0].resource.name"), (3, 5));
        assert_eq!(at("spec.labels.a.b/c"), (5, 19));
        assert_eq!(at("spec.maxReplicas"), (1, 1));
        assert_eq!(at("metadata.name"), (1, 1));
        assert_eq!(tree.key_span("spec.metrics[0].type").start.column, 5);
    }

    #[test]
    fn an_alias_within_itself_is_refused() {
        assert_eq!(
            read("a: &a [*a]\n").unwrap_err().message,
            "an alias within the value it stands for"
        );
    }
}
