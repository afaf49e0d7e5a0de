//! A document before it has a type: what a YAML or JSON reader hands to [`decode`](crate::decode()).
//!
//! Duplicate keys and the spelling of numbers survive, because the apiserver refuses the one and stores the other
//! (`1e3` is not `1000` to a quantity). Positions stay with the reader, which finds them again by the path of an error.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// How deep a document may nest. An HPA needs 12; beyond this a reader would spend its stack on nonsense.
const DEEPEST: usize = 96;

/// A JSON value whose numbers are text and whose objects are lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// `null`, which Kubernetes treats as if the field were not there.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it was written, in JSON's grammar.
    Number(String),
    /// A string, without its quotes and escapes.
    String(String),
    /// A list.
    List(Vec<Node>),
    /// Fields in the order they were written, duplicates included.
    Object(Vec<(String, Node)>),
}

/// Why a text is not JSON.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// Not JSON's grammar; the message has line and column.
    #[error("not JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    /// Nested deeper than any Kubernetes object.
    #[error("nested deeper than {DEEPEST} levels")]
    TooDeep,
}

impl Node {
    /// Reads one JSON document.
    ///
    /// # Errors
    /// If the text is not JSON, or nests absurdly deep.
    pub fn from_json(text: &str) -> Result<Self, JsonError> {
        read(serde_json::from_str(text)?, DEEPEST)
    }

    /// The value of a field; the last one, if it was written twice.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Node> {
        let Node::Object(fields) = self else { return None };
        fields.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The text, if it is a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Node::String(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Node::Null => "null",
            Node::Bool(_) => "a boolean",
            Node::Number(_) => "a number",
            Node::String(_) => "a string",
            Node::List(_) => "a list",
            Node::Object(_) => "an object",
        }
    }
}

/// As JSON usually is: of duplicate fields the last counts, and numbers lose their spelling.
impl From<&Node> for Value {
    fn from(node: &Node) -> Self {
        match node {
            Node::Null => Value::Null,
            Node::Bool(value) => Value::from(*value),
            Node::Number(text) => serde_json::from_str(text).unwrap_or(Value::Null),
            Node::String(text) => Value::from(text.as_str()),
            Node::List(nodes) => nodes.iter().map(Value::from).collect(),
            Node::Object(fields) => fields
                .iter()
                .map(|(name, node)| (name.clone(), Value::from(node)))
                .collect(),
        }
    }
}

fn read(raw: &RawValue, room: usize) -> Result<Node, JsonError> {
    let room = room.checked_sub(1).ok_or(JsonError::TooDeep)?;
    let text = raw.get();
    Ok(match text.as_bytes().first() {
        Some(b'{') => Node::Object(
            fields(text)?
                .into_iter()
                .map(|(key, value)| Ok((key, read(value, room)?)))
                .collect::<Result<_, JsonError>>()?,
        ),
        Some(b'[') => Node::List(
            serde_json::from_str::<Vec<&RawValue>>(text)?
                .into_iter()
                .map(|value| read(value, room))
                .collect::<Result<_, _>>()?,
        ),
        Some(b'"') => Node::String(serde_json::from_str(text)?),
        Some(b't') => Node::Bool(true),
        Some(b'f') => Node::Bool(false),
        Some(b'n') => Node::Null,
        _ => Node::Number(text.to_owned()),
    })
}

/// The fields of a JSON object in the order they were written, duplicates included, their values unread.
///
/// # Errors
/// If the text is not a JSON object.
pub fn fields(text: &str) -> Result<Vec<(String, &RawValue)>, serde_json::Error> {
    serde_json::Deserializer::from_str(text).deserialize_map(Fields)
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(fields)
    }
}
