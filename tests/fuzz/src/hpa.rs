//! Manifests.

use burst_hpa::{Node, Options, admit};
use burstctl::yaml::{documents, to_yaml};

/// An HPA as JSON: admitted or refused; one that is admitted stays so.
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

/// A file of YAML: what can be read is written as something that says the same.
pub(crate) fn yaml(bytes: &[u8]) -> bool {
    let documents_of = |text: &str| -> Vec<_> {
        let documents = documents(text).into_iter();
        documents
            .map(|document| document.content.map(|tree| tree.to_node()))
            .collect()
    };
    let read = documents_of(&String::from_utf8_lossy(bytes));
    for node in read.iter().flatten().filter(|node| !has_long_key(node)) {
        let text = to_yaml(node);
        let again = documents_of(&text).into_iter().next().unwrap_or(Ok(Node::Null));
        assert_eq!(again.as_ref(), Ok(node), "{text}");
    }
    read.iter().any(Result::is_ok)
}

/// YAML wants `?` before a key of more than 1,024 characters; a manifest has none, and none is written.
fn has_long_key(node: &Node) -> bool {
    match node {
        Node::Object(fields) => fields.iter().any(|(key, node)| key.len() > 100 || has_long_key(node)),
        Node::List(items) => items.iter().any(has_long_key),
        _ => false,
    }
}
