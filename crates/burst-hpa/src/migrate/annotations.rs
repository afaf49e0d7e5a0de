//! What the older versions had no fields for, and kept as JSON in annotations.

use super::fields::Fields;
use super::{Note, metric};
use crate::node::Node;

const PREFIX: &str = "autoscaling.alpha.kubernetes.io/";

/// The names of Kubernetes' internal type, which is what the annotation holds; Go reads them in any case.
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

/// Moves what the annotations hold to where it belongs, and removes them.
pub(super) fn unfold(document: &mut Fields, notes: &mut Vec<Note>) {
    let mut annotations = Annotations { found: Vec::new() };
    document.within("metadata", |metadata| {
        metadata.within("annotations", |all| annotations.take_from(all));
        if matches!(metadata.last_mut("annotations"), Some(Node::Object(rest)) if rest.is_empty()) {
            metadata.take("annotations");
        }
    });
    document.within("spec", |spec| annotations.put_into(spec, notes));
}

struct Annotations {
    found: Vec<(&'static str, Node)>,
}

impl Annotations {
    fn take_from(&mut self, all: &mut Fields) {
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

    fn put_into(self, spec: &mut Fields, notes: &mut Vec<Note>) {
        for (name, node) in self.found {
            let note = |text: &str| Note {
                field: format!("metadata.annotations.{PREFIX}{name}"),
                text: text.to_owned(),
            };
            let text = node.as_str().unwrap_or_default();
            match (name, Node::from_json(text)) {
                ("metrics", Ok(Node::List(metrics))) => prepend(spec, metrics),
                ("behavior", Ok(behavior @ Node::Object(_))) => spec.set("behavior", lower(behavior)),
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

fn prepend(spec: &mut Fields, mut metrics: Vec<Node>) {
    metrics.iter_mut().for_each(|old| metric::convert(old, true));
    if let Some(Node::List(own)) = spec.take("metrics") {
        metrics.extend(own);
    }
    spec.set("metrics", Node::List(metrics));
}

fn tolerance(spec: &mut Fields, direction: &str, text: &str) {
    spec.within("behavior", |behavior| {
        behavior.within(direction, |rules| rules.set("tolerance", Node::String(text.to_owned())));
    });
}

/// The same with the names of the API: `ScaleUp` is `scaleUp`.
fn lower(node: Node) -> Node {
    match node {
        Node::Object(fields) => {
            let name = |own: String| {
                let known = BEHAVIOR.iter().find(|name| name.eq_ignore_ascii_case(&own));
                known.map_or(own, |name| (*name).to_owned())
            };
            Node::Object(fields.into_iter().map(|(own, node)| (name(own), lower(node))).collect())
        }
        Node::List(nodes) => Node::List(nodes.into_iter().map(lower).collect()),
        other => other,
    }
}
