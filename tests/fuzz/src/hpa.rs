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
    for node in read.iter().flatten().filter(|node| can_be_written(node)) {
        let text = to_yaml(node);
        let again = documents_of(&text).into_iter().next().unwrap_or(Ok(Node::Null));
        assert_eq!(again.as_ref(), Ok(node), "{text}");
    }
    read.iter().any(Result::is_ok)
}

/// YAML wants `?` before a key of more than 1,024 characters; a manifest has none, and none is written. And it has a
/// whole number of more than 64 bits as a float, which JSON has as it is written.
fn can_be_written(node: &Node) -> bool {
    match node {
        Node::Object(fields) => fields
            .iter()
            .all(|(key, node)| key.len() <= 100 && can_be_written(node)),
        Node::List(items) => items.iter().all(can_be_written),
        Node::Number(text) => {
            let is_whole = text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit());
            !is_whole || text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok()
        }
        _ => true,
    }
}
