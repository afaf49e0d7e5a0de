//! Reads a node by the schema. The result is what Go has in memory, as JSON: nothing for `null`, zero
//! values for `null` in a list, quantities in canonical form.

use serde_json::{Map, Value};

use super::DecodeError;
use super::schema::{Field, Schema};
use super::time::is_rfc3339;
use crate::field_path::FieldPath;
use crate::nearest::nearest;
use crate::node::{Key, Node, NodeValue};
use crate::quantity::Quantity;

pub(super) fn read(node: &Node, schema: &Schema, path: &FieldPath<'_>, errors: &mut Vec<DecodeError>) -> Value {
    match (schema, &node.value) {
        (_, NodeValue::Null) => Value::Null,
        (Schema::Object(fields), NodeValue::Object(entries)) => object(entries, fields, path, errors),
        (Schema::List(item), NodeValue::List(nodes)) => list(nodes, item, path, errors),
        (Schema::Labels, NodeValue::Object(entries)) => labels(entries, path, errors),
        (Schema::String, NodeValue::String(text)) => Value::from(text.as_str()),
        (Schema::Bool, NodeValue::Bool(value)) => Value::from(*value),
        (Schema::Int32, NodeValue::Number(text)) => integer(
            text.parse::<i32>().map(i64::from).ok(),
            "a 32-bit integer",
            text,
            path,
            errors,
        ),
        (Schema::Int64, NodeValue::Number(text)) => integer(text.parse().ok(), "a 64-bit integer", text, path, errors),
        (Schema::Quantity, NodeValue::String(text)) => quantity(text.trim_matches(is_space), path, errors),
        (Schema::Quantity, NodeValue::Number(text)) => quantity(text, path, errors),
        (Schema::Time, NodeValue::String(text)) if is_rfc3339(text) => Value::from(text.as_str()),
        (Schema::Time, NodeValue::String(text)) => wrong(expected(schema), text.clone(), path, errors),
        (Schema::Any, _) => node.to_json(),
        _ => wrong(expected(schema), node.type_name().to_owned(), path, errors),
    }
}

/// The white space that Go trims off a quantity. It trims the raw JSON, in which a line break or a tab is an escape.
fn is_space(character: char) -> bool {
    character.is_whitespace() && !character.is_ascii_control()
}

fn expected(schema: &Schema) -> &'static str {
    match schema {
        Schema::Object(_) | Schema::Labels => "an object",
        Schema::List(_) => "a list",
        Schema::String => "a string",
        Schema::Bool => "a boolean",
        Schema::Int32 => "a 32-bit integer",
        Schema::Int64 => "a 64-bit integer",
        Schema::Quantity => "a quantity",
        Schema::Time => "a time as in RFC 3339",
        Schema::Any => "anything",
    }
}

fn wrong(expected: &'static str, found: String, path: &FieldPath<'_>, errors: &mut Vec<DecodeError>) -> Value {
    errors.push(DecodeError::WrongType {
        path: path.to_string(),
        expected,
        found,
    });
    Value::Null
}

fn object(entries: &[(Key, Node)], fields: &[Field], path: &FieldPath<'_>, errors: &mut Vec<DecodeError>) -> Value {
    let mut object = Map::new();
    for (index, (Key { name, .. }, node)) in entries.iter().enumerate() {
        let path = path.field(name);
        duplicate(entries, index, &path, errors);
        let Some(field) = fields.iter().find(|field| field.name == name) else {
            unknown(name, fields, &path, errors);
            continue;
        };
        let value = read(node, field.schema, &path, errors);
        let absent = value.is_null() || field.omit_empty && is_empty(&value);
        if !absent {
            object.insert(name.clone(), value);
        }
    }
    Value::Object(object)
}

fn list(nodes: &[Node], item: &Schema, path: &FieldPath<'_>, errors: &mut Vec<DecodeError>) -> Value {
    let values = nodes.iter().enumerate().map(|(index, node)| match node.value {
        NodeValue::Null => zero(item),
        _ => read(node, item, &path.item(index), errors),
    });
    Value::Array(values.collect())
}

fn labels(entries: &[(Key, Node)], path: &FieldPath<'_>, errors: &mut Vec<DecodeError>) -> Value {
    let mut labels = Map::new();
    for (index, (Key { name, .. }, node)) in entries.iter().enumerate() {
        let path = path.field(name);
        duplicate(entries, index, &path, errors);
        let value = match node.value {
            NodeValue::Null => zero(&Schema::String),
            _ => read(node, &Schema::String, &path, errors),
        };
        labels.insert(name.clone(), value);
    }
    Value::Object(labels)
}

/// Reports a repeated name once.
fn duplicate(entries: &[(Key, Node)], index: usize, path: &FieldPath<'_>, errors: &mut Vec<DecodeError>) {
    let (before, rest) = entries.split_at(index);
    let key = rest.first().map(|(key, _)| key);
    if before.iter().filter(|(other, _)| Some(other) == key).count() == 1 {
        errors.push(DecodeError::DuplicateField { path: path.to_string() });
    }
}

fn unknown(name: &str, fields: &[Field], path: &FieldPath<'_>, errors: &mut Vec<DecodeError>) {
    let nearest = nearest(name, fields.iter().map(|field| field.name));
    let error = DecodeError::UnknownField {
        path: path.to_string(),
        nearest,
    };
    if !errors.contains(&error) {
        errors.push(error);
    }
}

fn integer(
    value: Option<i64>,
    expected: &'static str,
    text: &str,
    path: &FieldPath<'_>,
    errors: &mut Vec<DecodeError>,
) -> Value {
    match value {
        Some(value) => Value::from(value),
        None => wrong(expected, text.to_owned(), path, errors),
    }
}

fn quantity(text: &str, path: &FieldPath<'_>, errors: &mut Vec<DecodeError>) -> Value {
    match text.parse::<Quantity>() {
        Ok(quantity) => Value::from(quantity.to_string()),
        Err(reason) => {
            errors.push(DecodeError::Quantity {
                path: path.to_string(),
                found: text.to_owned(),
                reason,
            });
            Value::Null
        }
    }
}

fn zero(schema: &Schema) -> Value {
    match schema {
        Schema::Object(_) | Schema::Labels => Value::Object(Map::new()),
        Schema::List(_) => Value::Array(Vec::new()),
        Schema::String => Value::from(""),
        Schema::Quantity => Value::from("0"),
        Schema::Int32 | Schema::Int64 => Value::from(0),
        Schema::Bool => Value::from(false),
        Schema::Time | Schema::Any => Value::Null,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Null | Value::Bool(_) => false,
    }
}
