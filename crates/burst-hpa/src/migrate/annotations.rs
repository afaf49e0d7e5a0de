//! The annotations that hold, as JSON, the fields of v2 that an older version does not have.

use super::fields::ObjectFields;
use super::{Note, metric};
use crate::node::{Node, NodeValue};

const PREFIX: &str = "autoscaling.alpha.kubernetes.io/";

/// The field names of Kubernetes' internal type, which the annotation holds. Go reads them ignoring case.
const BEHAVIOR: [&str; 9] = [
    "scaleUp",
    "scaleDown",
    "stabilizationWindowSeconds",
    "selectPolicy",
    "policies",
    "tolerance",
    "type",
    "value",
    "periodSeconds",
];

/// Moves the content of the annotations to the fields it belongs to, and removes the annotations.
pub(super) fn unfold(document: &mut ObjectFields, notes: &mut Vec<Note>) {
    let mut annotations = Annotations { found: Vec::new() };
    document.within("metadata", |metadata| {
        metadata.within("annotations", |all| annotations.take_from(all));
        let remaining = metadata.last_mut("annotations").map(|node| &node.value);
        if matches!(remaining, Some(NodeValue::Object(fields)) if fields.is_empty()) {
            metadata.take("annotations");
        }
    });
    document.within("spec", |spec| annotations.put_into(spec, notes));
}

struct Annotations {
    found: Vec<(&'static str, Node)>,
}

impl Annotations {
    fn take_from(&mut self, all: &mut ObjectFields) {
        let names = [
            "metrics",
            "behavior",
            "scale-up-tolerance",
            "scale-down-tolerance",
            "current-metrics",
            "conditions",
        ];
        for name in names {
            if let Some(node) = all.take(&format!("{PREFIX}{name}")) {
                self.found.push((name, node));
            }
        }
    }

    fn put_into(self, spec: &mut ObjectFields, notes: &mut Vec<Note>) {
        for (name, node) in self.found {
            let note = |text: &str| Note {
                field: format!("metadata.annotations.{PREFIX}{name}"),
                text: text.to_owned(),
            };
            let text = node.as_str().unwrap_or_default();
            match (name, Node::from_json(text).map(|node| node.value)) {
                ("metrics", Ok(NodeValue::List(metrics))) => prepend(spec, metrics),
                ("behavior", Ok(behavior @ NodeValue::Object(_))) => spec.set("behavior", lower(behavior.into())),
                ("scale-up-tolerance", _) => tolerance(spec, "scaleUp", text),
                ("scale-down-tolerance", _) => tolerance(spec, "scaleDown", text),
                ("current-metrics" | "conditions", _) => {
                    notes.push(note("dropped: it is status, which the controller writes"));
                }
                _ => notes.push(note(
                    "dropped: it does not hold what it should, and the apiserver would ignore it",
                )),
            }
        }
    }
}

fn prepend(spec: &mut ObjectFields, mut metrics: Vec<Node>) {
    metrics.iter_mut().for_each(|old| metric::convert(old, true));
    if let Some(NodeValue::List(own)) = spec.take("metrics").map(|node| node.value) {
        metrics.extend(own);
    }
    spec.set("metrics", Node::list(metrics));
}

fn tolerance(spec: &mut ObjectFields, direction: &str, text: &str) {
    spec.within("behavior", |behavior| {
        behavior.within(direction, |rules| rules.set("tolerance", Node::string(text)));
    });
}

/// Returns the node with the field names of the API: `ScaleUp` becomes `scaleUp`.
fn lower(node: Node) -> Node {
    match node.value {
        NodeValue::Object(fields) => {
            let fields = fields.into_iter().map(|(key, node)| (api_name(key.name), lower(node)));
            Node::object(fields)
        }
        NodeValue::List(items) => Node::list(items.into_iter().map(lower).collect()),
        value => value.into(),
    }
}

fn api_name(name: String) -> String {
    let known = BEHAVIOR.iter().find(|known| known.eq_ignore_ascii_case(&name));
    known.map_or(name, |known| (*known).to_owned())
}
