//! JSON, where numbers keep their spelling: to a quantity `1e3` is not `1000`.

use burst_hpa::node::fields;
use serde_json::value::RawValue;

use super::build::error;
use super::tree::{Document, Key, Mark, Span, SyntaxError, Tree, Value};

/// How deep a document may nest.
const DEEPEST: usize = 96;

/// The documents of a JSON file, one after another; None if it is none, and perhaps YAML.
pub(super) fn documents(text: &str) -> Option<Vec<Document>> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let raws: Vec<&RawValue> = values.collect::<Result<_, _>>().ok()?;
    let lines = Lines::of(text);
    let documents = raws.iter().enumerate().map(|(index, raw)| Document {
        number: index + 1,
        content: tree(raw, &lines, DEEPEST),
    });
    Some(documents.collect())
}

/// Where each line begins.
struct Lines<'a> {
    text: &'a str,
    /// Then bytes are characters, and a column in a line of a megabyte needs no counting.
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

    /// `part` is a slice of the text.
    fn span(&self, part: &str) -> Span {
        let start = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        Span {
            start: self.mark(start),
            end: self.mark(start + part.len()),
        }
    }

    /// The quoted name before a value.
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
        Key { name, span }
    }
}

fn tree(raw: &RawValue, lines: &Lines<'_>, room: usize) -> Result<Tree, SyntaxError> {
    let (text, span) = (raw.get(), lines.span(raw.get()));
    let Some(room) = room.checked_sub(1) else {
        return Err(error(span.start, format!("nested deeper than {DEEPEST} levels")));
    };
    let broken = |reason: serde_json::Error| error(span.start, reason.to_string());
    let value = match text.as_bytes().first() {
        Some(b'{') => {
            let fields = fields(text)
                .map_err(broken)?
                .into_iter()
                .map(|(name, value)| Ok((lines.key(name, value), tree(value, lines, room)?)));
            Value::Object(fields.collect::<Result<_, SyntaxError>>()?)
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text).map_err(broken)?;
            Value::List(
                items
                    .into_iter()
                    .map(|item| tree(item, lines, room))
                    .collect::<Result<_, _>>()?,
            )
        }
        Some(b'"') => Value::String(serde_json::from_str(text).map_err(broken)?),
        Some(b't') => Value::Bool(true),
        Some(b'f') => Value::Bool(false),
        Some(b'n') => Value::Null,
        _ => Value::Number(text.to_owned()),
    };
    Ok(Tree { value, span })
}

#[cfg(test)]
mod tests {
    use crate::yaml::{Mark, Value, documents};

    #[test]
    fn json_keeps_its_numbers_and_has_places() {
        let documents = documents("{\"a\": {\"q\\\"x\": 1e3}}\n{\"b\": \"\\ud83d\\ude00\"}");
        let first = documents[0].content.as_ref().unwrap();
        let number = first.field("a").unwrap().field("q\"x").unwrap();
        assert_eq!(number.value, Value::Number("1e3".to_owned()));
        assert_eq!(number.span.start, Mark { line: 1, column: 16 });
        assert_eq!(first.place_of_key("a.q\"x").start, Mark { line: 1, column: 8 });
        let second = documents[1].content.as_ref().unwrap();
        assert_eq!((documents[1].number, second.text("b")), (2, Some("😀")));
    }

    #[test]
    fn a_flow_mapping_that_is_no_json_is_yaml() {
        let documents = documents("{a: on}");
        assert_eq!(
            documents[0].content.as_ref().unwrap().field("a").unwrap().value,
            Value::Bool(true)
        );
    }
}
