//! Reads JSON and keeps the spelling of numbers: as a quantity, `1e3` is not `1000`.

use burst_hpa::node::fields;
use burst_hpa::node::{Key, Mark, Node, NodeValue, Span};
use serde_json::value::RawValue;

use super::document::{Document, SyntaxError, error};

/// The maximum nesting depth of a document.
const DEEPEST: usize = 96;

/// Returns the JSON documents at the start of a file, and the number of bytes they take. Like kubectl, it leaves the
/// rest to the YAML reader after one document. After two, anything that is not JSON is an error.
pub(super) fn documents(text: &str) -> (Vec<Document>, usize) {
    let (mut documents, mut read) = (Vec::new(), 0);
    if !text.trim_start().starts_with('{') {
        return (documents, read);
    }
    let lines = Lines::of(text);
    while let Some((rest, value)) = next(text, read) {
        let content = match value {
            Ok((raw, length)) => {
                read += length;
                tree(raw, &lines, DEEPEST)
            }
            Err(_) if documents.len() < 2 => break,
            Err(reason) => {
                let stopped_at = position(rest, &reason);
                let at = lines.mark(read + stopped_at);
                read = next_object(rest, stopped_at).map_or(text.len(), |next| read + next);
                Err(error(at, without_position(&reason)))
            }
        };
        let number = documents.len() + 1;
        documents.push(Document { number, content });
    }
    (documents, read)
}

/// Returns the text after the first `read` bytes, with its first value and the length of that; `None` at the end.
fn next(text: &str, read: usize) -> Option<(&str, serde_json::Result<(&RawValue, usize)>)> {
    let rest = text.get(read..)?;
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
    let value = values.next()?;
    Some((rest, value.map(|value| (value, values.byte_offset()))))
}

/// Returns the byte offset at which the parser stopped.
fn position(text: &str, reason: &serde_json::Error) -> usize {
    let above = text.split_inclusive('\n').take(reason.line().saturating_sub(1));
    above.map(str::len).sum::<usize>() + reason.column().saturating_sub(1)
}

/// Returns the offset of the next line that begins with an object, so that reading can continue after an error.
fn next_object(text: &str, stopped_at: usize) -> Option<usize> {
    // An unexpected brace may begin the next object, but the first brace never does.
    let first = text.find('{').map_or(0, |first| first + 1);
    let from = stopped_at.saturating_sub(1).max(first);
    let mut ends = text.as_bytes().windows(2).skip(from);
    ends.position(|pair| pair == b"\n{").map(|index| from + index)
}

/// Returns the error message without the position, which is shown with the file name.
fn without_position(reason: &serde_json::Error) -> String {
    let message = reason.to_string();
    let position = format!(" at line {} column {}", reason.line(), reason.column());
    message.strip_suffix(&position).unwrap_or(&message).to_owned()
}

/// The start of each line, to convert byte offsets to positions.
struct Lines<'a> {
    text: &'a str,
    /// If set, a byte is a character, so a column in a very long line needs no counting.
    is_ascii: bool,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let after = text.match_indices('\n').map(|(index, _)| index + 1);
        Self {
            text,
            is_ascii: text.is_ascii(),
            starts: std::iter::once(0).chain(after).collect(),
        }
    }

    fn mark(&self, offset: usize) -> Mark {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let column = match self.is_ascii {
            true => offset - start,
            false => self.text.get(start..offset).map_or(0, |before| before.chars().count()),
        };
        Mark {
            line,
            column: column + 1,
        }
    }

    /// Returns the span of `part`, which must be a slice of the text.
    fn span(&self, part: &str) -> Span {
        let start = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        Span {
            start: self.mark(start),
            end: self.mark(start + part.len()),
        }
    }

    /// Returns the key whose quoted name precedes `value`.
    fn key(&self, name: String, value: &RawValue) -> Key {
        let start = (value.get().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let before = self.text.get(..start).unwrap_or_default().trim_end();
        let quoted = before.strip_suffix(':').unwrap_or(before).trim_end();
        let inside = quoted.strip_suffix('"').unwrap_or(quoted);
        let mut opening = inside.rmatch_indices('"').map(|(index, _)| index);
        let begin = opening.find(|index| {
            let slashes = inside
                .get(..*index)
                .unwrap_or_default()
                .bytes()
                .rev()
                .take_while(|byte| *byte == b'\\');
            slashes.count() % 2 == 0
        });
        let span = self.span(quoted.get(begin.unwrap_or(0)..).unwrap_or_default());
        Key { name, span: Some(span) }
    }
}

fn tree(raw: &RawValue, lines: &Lines<'_>, room: usize) -> Result<Node, SyntaxError> {
    let (text, span) = (raw.get(), lines.span(raw.get()));
    let Some(room) = room.checked_sub(1) else {
        return Err(error(span.start, format!("nested deeper than {DEEPEST} levels")));
    };
    let broken = |reason: serde_json::Error| error(span.start, without_position(&reason));
    let value = match text.as_bytes().first() {
        Some(b'{') => {
            let fields = fields(text)
                .map_err(broken)?
                .into_iter()
                .map(|(name, value)| Ok((lines.key(name, value), tree(value, lines, room)?)));
            NodeValue::Object(fields.collect::<Result<_, SyntaxError>>()?)
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text).map_err(broken)?;
            NodeValue::List(
                items
                    .into_iter()
                    .map(|item| tree(item, lines, room))
                    .collect::<Result<_, _>>()?,
            )
        }
        Some(b'"') => NodeValue::String(serde_json::from_str(text).map_err(broken)?),
        Some(b't') => NodeValue::Bool(true),
        Some(b'f') => NodeValue::Bool(false),
        Some(b'n') => NodeValue::Null,
        _ => NodeValue::Number(text.to_owned()),
    };
    Ok(Node {
        value,
        span: Some(span),
    })
}

#[cfg(test)]
mod tests {
    use burst_hpa::node::{Mark, NodeValue};

    use crate::yaml::documents;

    #[test]
    fn json_keeps_the_spelling_of_numbers_and_has_positions() {
        let documents = documents("{\"a\": {\"q\\\"x\": 1e3}}\n{\"b\": \"\\ud83d\\ude00\"}");
        let first = documents[0].content.as_ref().unwrap();
        let number = first.field("a").unwrap().field("q\"x").unwrap();
        assert_eq!(number.value, NodeValue::Number("1e3".to_owned()));
        assert_eq!(number.span().start, Mark { line: 1, column: 16 });
        assert_eq!(first.key_span("a.q\"x").start, Mark { line: 1, column: 8 });
        let second = documents[1].content.as_ref().unwrap();
        assert_eq!((documents[1].number, second.text("b")), (2, Some("😀")));
    }

    fn shown(text: &str) -> Vec<String> {
        let content = |document: crate::yaml::Document| match document.content {
            Ok(tree) => tree.to_json().to_string(),
            Err(error) => error.to_string(),
        };
        documents(text).into_iter().map(content).collect()
    }

    #[test]
    fn invalid_json_is_read_as_yaml_until_two_json_documents_are_read() {
        let (a, b, c) = ("{\"a\":1}", "{\"b\":2}", "{\"c\":8}");
        assert_eq!(shown("{\"c\": 010}"), [c]);
        assert_eq!(shown("{\"a\": 1}\n{\"c\": 010}"), [a, c]);
        assert_eq!(shown("{\"a\": 1}\n---\nb: 2\n---\n{\"c\": 010}\n"), [a, b, c]);
        let more = "{\"a\": 1}\n{\"b\": 2}\n\n{\"é\": 0\n10}\n{\"a\": 1\n{\"c\": 8}\n{";
        let [broken, open, cut] = [
            "5:1: expected `,` or `}`",
            "7:1: expected `,` or `}`",
            "8:1: EOF while parsing an object",
        ];
        let expected = [a, b, broken, open, c, cut];
        assert_eq!(shown(more), expected);
    }

    #[test]
    fn positions_after_json_are_those_of_the_file() {
        let documents = documents("{\n\"a\": 1}\n\n---\n  b: x\n");
        let b = documents[1].content.as_ref().unwrap().field("b").unwrap();
        assert_eq!((documents[1].number, b.span().start), (2, Mark { line: 5, column: 6 }));
        let expected = ["{\"é\":1}", "2:8: U+0007, a control character"];
        assert_eq!(shown("{\"é\":\n1} {a: \u{7}}"), expected);
    }

    #[test]
    fn a_flow_mapping_that_is_not_json_is_read_as_yaml() {
        let documents = documents("{a: on}");
        assert_eq!(
            documents[0].content.as_ref().unwrap().field("a").unwrap().value,
            NodeValue::Bool(true)
        );
    }
}
