//! A document with places.

use std::collections::HashSet;

use burst_hpa::Node;

/// A place in a file. Both count from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// From the first character to behind the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first character.
    pub start: Mark,
    /// Behind the last one.
    pub end: Mark,
}

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The value.
    pub value: Value,
    /// Where it was written; for an alias, where the alias is.
    pub span: Span,
}

/// The name of a field and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// As JSON has it: a string whatever it was.
    pub name: String,
    /// Where it was written.
    pub span: Span,
}

/// What Kubernetes takes a value for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Nothing.
    Null,
    /// `true`, `on`, `y`, …
    Bool(bool),
    /// In JSON's grammar.
    Number(String),
    /// Text.
    String(String),
    /// A list.
    List(Vec<Tree>),
    /// Fields as written, duplicates included, merged ones filled in.
    Object(Vec<(Key, Tree)>),
}

/// One document of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Counts from 1 in its file.
    pub number: usize,
    /// What it says, or why it cannot be read.
    pub content: Result<Tree, SyntaxError>,
}

/// Why a document cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}: {message}", at.line, at.column)]
pub struct SyntaxError {
    /// Where.
    pub at: Mark,
    /// Why.
    pub message: String,
}

impl Span {
    /// Nothing, at the very beginning.
    pub const START: Self = Self {
        start: Mark { line: 1, column: 1 },
        end: Mark { line: 1, column: 1 },
    };
}

impl Tree {
    /// The value of a field; the last one, if it was written twice.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Tree> {
        let Value::Object(fields) = &self.value else {
            return None;
        };
        fields
            .iter()
            .rev()
            .find(|(key, _)| key.name == name)
            .map(|(_, tree)| tree)
    }

    /// The value of a field, if it is text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match &self.field(name)?.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The first name that stands in an object twice, where it does so again.
    #[must_use]
    pub fn duplicate(&self) -> Option<&Key> {
        match &self.value {
            Value::List(items) => items.iter().find_map(Tree::duplicate),
            Value::Object(fields) => {
                let mut seen = HashSet::new();
                let here = fields
                    .iter()
                    .find(|(key, _)| !seen.insert(&key.name))
                    .map(|(key, _)| key);
                here.or_else(|| fields.iter().find_map(|(_, tree)| tree.duplicate()))
            }
            _ => None,
        }
    }

    /// The same without places.
    #[must_use]
    pub fn to_node(&self) -> Node {
        match &self.value {
            Value::Null => Node::Null,
            Value::Bool(value) => Node::Bool(*value),
            Value::Number(text) => Node::Number(text.clone()),
            Value::String(text) => Node::String(text.clone()),
            Value::List(items) => Node::List(items.iter().map(Tree::to_node).collect()),
            Value::Object(fields) => Node::Object(
                fields
                    .iter()
                    .map(|(key, tree)| (key.name.clone(), tree.to_node()))
                    .collect(),
            ),
        }
    }

    /// The same as JSON; of a field that was written twice the last one stays.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Number(text) => serde_json::from_str(text).unwrap_or(serde_json::Value::Null),
            Value::String(text) => text.as_str().into(),
            Value::List(items) => items.iter().map(Tree::to_json).collect(),
            Value::Object(fields) => fields
                .iter()
                .map(|(key, tree)| (key.name.clone(), tree.to_json()))
                .collect(),
        }
    }
}
