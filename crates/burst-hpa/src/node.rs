//! A JSON or YAML document before it has a type, as a reader hands it to [`decode`](crate::decode()).
//!
//! Duplicate keys and the spelling of numbers survive: the API server refuses duplicate keys, and to a quantity `1e3` is not
//! `1000`. A reader that knows where a value is written adds its span.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// How deep a document may nest. An HPA needs 12; the limit bounds the stack of a reader.
const MAX_DEPTH: usize = 96;

/// A position in a file. Both numbers count from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The position of the first character.
    pub start: Mark,
    /// The position behind the last character.
    pub end: Mark,
}

impl Span {
    /// The empty span at the beginning of a file.
    pub const START: Self = Self {
        start: Mark { line: 1, column: 1 },
        end: Mark { line: 1, column: 1 },
    };
}

/// A value. Two nodes are equal if their values are, wherever they are written.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub value: NodeValue,
    /// Where it is written, if the reader knows that; for an alias, where the alias is.
    pub span: Option<Span>,
}

/// A JSON value whose numbers are text and whose objects are lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeValue {
    /// `null`, which Kubernetes treats like a missing field.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it is written, in JSON's grammar.
    Number(String),
    /// A string, without its quotes and escapes.
    String(String),
    /// A list.
    List(Vec<Node>),
    /// Fields in the order in which they are written, duplicates included.
    Object(Vec<(Key, Node)>),
}

/// The name of a field. Two keys are equal if their names are.
#[derive(Clone, Debug)]
pub struct Key {
    /// The name.
    pub name: String,
    /// Where it is written, if the reader knows that.
    pub span: Option<Span>,
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Eq for Node {}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Key {}

impl From<NodeValue> for Node {
    fn from(value: NodeValue) -> Self {
        Self { value, span: None }
    }
}

impl Key {
    /// The span; the beginning of the file if the reader did not know it.
    #[must_use]
    pub fn span(&self) -> Span {
        self.span.unwrap_or(Span::START)
    }
}

impl<S: Into<String>> From<S> for Key {
    fn from(name: S) -> Self {
        Self {
            name: name.into(),
            span: None,
        }
    }
}

/// Why a text is not JSON.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// Not JSON's grammar; the message has line and column.
    #[error("not JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    /// Nested deeper than any Kubernetes object.
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

impl Node {
    /// `null`, written nowhere.
    pub const NULL: Self = Self {
        value: NodeValue::Null,
        span: None,
    };

    /// A string, written nowhere.
    pub fn string(text: impl Into<String>) -> Self {
        NodeValue::String(text.into()).into()
    }

    /// A number in JSON's grammar, written nowhere.
    pub fn number(text: impl Into<String>) -> Self {
        NodeValue::Number(text.into()).into()
    }

    /// A list, written nowhere.
    #[must_use]
    pub fn list(items: Vec<Self>) -> Self {
        NodeValue::List(items).into()
    }

    /// An object, written nowhere.
    #[must_use]
    pub fn object<K: Into<Key>>(fields: impl IntoIterator<Item = (K, Self)>) -> Self {
        let fields = fields.into_iter().map(|(key, node)| (key.into(), node));
        NodeValue::Object(fields.collect()).into()
    }

    /// Reads one JSON document, without spans.
    ///
    /// # Errors
    /// If the text is not JSON, or nests too deep.
    pub fn from_json(text: &str) -> Result<Self, JsonError> {
        read(serde_json::from_str(text)?, MAX_DEPTH)
    }

    /// The span; the beginning of the file if the reader did not know it.
    #[must_use]
    pub fn span(&self) -> Span {
        self.span.unwrap_or(Span::START)
    }

    /// The value of a field; the last one, if it is written twice.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Node> {
        let NodeValue::Object(fields) = &self.value else {
            return None;
        };
        let mut fields = fields.iter().rev();
        fields.find(|(key, _)| key.name == name).map(|(_, node)| node)
    }

    /// The text, if it is a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            NodeValue::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value of a field, if that is a string.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.field(name)?.as_str()
    }

    /// The first key that repeats one of the same object.
    #[must_use]
    pub fn duplicate(&self) -> Option<&Key> {
        match &self.value {
            NodeValue::List(items) => items.iter().find_map(Self::duplicate),
            NodeValue::Object(fields) => {
                let mut seen = HashSet::new();
                let mut keys = fields.iter().map(|(key, _)| key);
                let repeated = keys.find(|key| !seen.insert(&key.name));
                repeated.or_else(|| fields.iter().find_map(|(_, node)| node.duplicate()))
            }
            _ => None,
        }
    }

    /// The same for `serde_json`: the last of duplicate fields counts, and numbers lose their spelling.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            NodeValue::Null => serde_json::Value::Null,
            NodeValue::Bool(value) => (*value).into(),
            NodeValue::Number(text) => serde_json::from_str(text).unwrap_or(serde_json::Value::Null),
            NodeValue::String(text) => text.as_str().into(),
            NodeValue::List(items) => items.iter().map(Self::to_json).collect(),
            NodeValue::Object(fields) => {
                let fields = fields.iter().map(|(key, node)| (key.name.clone(), node.to_json()));
                fields.collect()
            }
        }
    }

    pub(crate) fn type_name(&self) -> &'static str {
        match &self.value {
            NodeValue::Null => "null",
            NodeValue::Bool(_) => "a boolean",
            NodeValue::Number(_) => "a number",
            NodeValue::String(_) => "a string",
            NodeValue::List(_) => "a list",
            NodeValue::Object(_) => "an object",
        }
    }
}

fn read(raw: &RawValue, depth_left: usize) -> Result<Node, JsonError> {
    let depth_left = depth_left.checked_sub(1).ok_or(JsonError::TooDeep)?;
    let text = raw.get();
    let value = match text.as_bytes().first() {
        Some(b'{') => {
            let fields = fields(text)?
                .into_iter()
                .map(|(name, value)| Ok((name.into(), read(value, depth_left)?)))
                .collect::<Result<_, JsonError>>()?;
            NodeValue::Object(fields)
        }
        Some(b'[') => {
            let raw_items: Vec<&RawValue> = serde_json::from_str(text)?;
            let items = raw_items.into_iter().map(|item| read(item, depth_left));
            NodeValue::List(items.collect::<Result<_, _>>()?)
        }
        Some(b'"') => NodeValue::String(serde_json::from_str(text)?),
        Some(b't') => NodeValue::Bool(true),
        Some(b'f') => NodeValue::Bool(false),
        Some(b'n') => NodeValue::Null,
        _ => NodeValue::Number(text.to_owned()),
    };
    Ok(value.into())
}

/// The fields of a JSON object in the order in which they are written, duplicates included, their values unread.
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
