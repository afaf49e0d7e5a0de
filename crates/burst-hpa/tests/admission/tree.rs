//! Small words for building documents, and their JSON.

use burst_hpa::Node;

pub(crate) fn text(text: &str) -> Node {
    Node::String(text.to_owned())
}

pub(crate) fn number(number: &impl ToString) -> Node {
    Node::Number(number.to_string())
}

pub(crate) fn object<const N: usize>(fields: [(&str, Node); N]) -> Node {
    Node::Object(fields.into_iter().map(|(name, node)| (name.to_owned(), node)).collect())
}

/// JSON text in which duplicate keys and the spelling of numbers survive.
pub(crate) fn to_json(node: &Node) -> String {
    match node {
        Node::Null => "null".to_owned(),
        Node::Bool(value) => value.to_string(),
        Node::Number(text) => text.clone(),
        Node::String(text) => serde_json::Value::from(text.as_str()).to_string(),
        Node::List(items) => format!("[{}]", join(items.iter().map(to_json))),
        Node::Object(fields) => {
            let field = |(name, node): &(String, Node)| format!("{}:{}", to_json(&text(name)), to_json(node));
            format!("{{{}}}", join(fields.iter().map(field)))
        }
    }
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(",")
}
