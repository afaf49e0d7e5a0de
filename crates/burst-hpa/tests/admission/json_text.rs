//! Short constructors of nodes, and their JSON text.

use burst_hpa::node::{Key, Node, NodeValue};

pub(crate) fn text(text: &str) -> Node {
    Node::string(text)
}

pub(crate) fn number(number: &impl ToString) -> Node {
    Node::number(number.to_string())
}

pub(crate) fn object<const N: usize>(fields: [(&str, Node); N]) -> Node {
    Node::object(fields)
}

/// JSON text in which duplicate keys and the spelling of numbers survive.
pub(crate) fn to_json(node: &Node) -> String {
    match &node.value {
        NodeValue::Null => "null".to_owned(),
        NodeValue::Bool(value) => value.to_string(),
        NodeValue::Number(text) => text.clone(),
        NodeValue::String(text) => serde_json::Value::from(text.as_str()).to_string(),
        NodeValue::List(items) => format!("[{}]", join(items.iter().map(to_json))),
        NodeValue::Object(fields) => {
            let field = |(key, node): &(Key, Node)| format!("{}:{}", to_json(&text(&key.name)), to_json(node));
            format!("{{{}}}", join(fields.iter().map(field)))
        }
    }
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(",")
}
