//! Manifests.

use burst_hpa::{Node, NodeValue, Options, admit};
use burstctl::yaml::{documents, to_yaml};

/// Parses an HPA as JSON. If the API server would admit it, the stored form is admitted too.
pub(crate) fn hpa(bytes: &[u8]) -> bool {
    let Ok(node) = Node::from_json(&String::from_utf8_lossy(bytes)) else {
        return false;
    };
    let Ok(hpa) = admit(&node, Options::default()) else {
        return false;
    };
    let json = serde_json::to_string(&hpa).expect("JSON");
    let node = Node::from_json(&json).expect("JSON");
    let again = admit(&node, Options::default()).unwrap_or_else(|refusal| panic!("{json}: {refusal:?}"));
    assert_eq!(again, hpa);
    true
}

/// Parses a YAML file. What can be parsed is written as YAML with the same meaning.
pub(crate) fn yaml(bytes: &[u8]) -> bool {
    let documents_of = |text: &str| -> Vec<_> {
        let documents = documents(text).into_iter();
        documents.map(|document| document.content).collect()
    };
    let read = documents_of(&String::from_utf8_lossy(bytes));
    for node in read.iter().flatten().filter(|node| !cannot_be_written(node)) {
        let text = to_yaml(node);
        let again = documents_of(&text).into_iter().next().unwrap_or(Ok(Node::NULL));
        assert_eq!(again.map(by_value), Ok(by_value(node.clone())), "{text}");
    }
    read.iter().any(Result::is_ok)
}

/// Whether a node cannot be written. YAML needs `?` before a key of more than 1,024 characters, and the writer does not
/// support that. A number too large for a float is a string in YAML, and Kubernetes refuses it in JSON.
fn cannot_be_written(node: &Node) -> bool {
    match &node.value {
        NodeValue::Object(fields) => fields
            .iter()
            .any(|(key, node)| key.name.len() > 100 || cannot_be_written(node)),
        NodeValue::List(items) => items.iter().any(cannot_be_written),
        NodeValue::Number(text) => text.parse::<f64>().is_ok_and(f64::is_infinite),
        _ => false,
    }
}

/// Normalizes numbers: JSON keeps a number as it is written, YAML as an integer or a float.
fn by_value(node: Node) -> Node {
    let number = |text: &str| match (text.parse::<i64>(), text.parse::<u64>()) {
        (Ok(whole), _) => whole.to_string(),
        (_, Ok(whole)) => whole.to_string(),
        _ => text.parse::<f64>().unwrap_or(f64::NAN).to_string(),
    };
    match node.value {
        NodeValue::Object(fields) => Node::object(fields.into_iter().map(|(key, node)| (key, by_value(node)))),
        NodeValue::List(items) => Node::list(items.into_iter().map(by_value).collect()),
        NodeValue::Number(text) => Node::number(number(&text)),
        value => value.into(),
    }
}
