//! Metrics in the form of `v2beta1`, which the annotation of `v1` uses, too.

use super::fields::ObjectFields;
use crate::node::{Key, Node, NodeValue};
use crate::quantity::Quantity;

const SOURCES: [&str; 5] = ["resource", "containerResource", "pods", "object", "external"];

/// Names that no later version has.
const OLD: [&str; 5] = [
    "metricName",
    "metricSelector",
    "targetValue",
    "targetAverageValue",
    "targetAverageUtilization",
];

/// Converts a metric: `always`, or only if it has a field of the old version.
pub(super) fn convert(metric: &mut Node, always: bool) {
    let NodeValue::Object(sources) = &mut metric.value else {
        return;
    };
    for (Key { name, .. }, node) in sources {
        let (Some(source), NodeValue::Object(fields)) =
            (SOURCES.iter().find(|source| *source == name), &mut node.value)
        else {
            continue;
        };
        if always || fields.iter().any(|(key, _)| OLD.contains(&key.name.as_str())) {
            let mut rewritten = ObjectFields(std::mem::take(fields));
            rewrite(source, &mut rewritten);
            *fields = rewritten.0;
        }
    }
}

fn rewrite(source: &str, fields: &mut ObjectFields) {
    if source == "object" {
        fields.rename("target", "describedObject");
    }
    if !matches!(source, "resource" | "containerResource") {
        identifier(fields);
    }
    let value = present(fields.take("targetValue"));
    let average = match source {
        "object" => present(fields.take("averageValue")),
        _ => present(fields.take("targetAverageValue")),
    };
    let utilization = present(fields.take("targetAverageUtilization"));
    fields.set("target", target(source, value, average, utilization));
}

fn identifier(fields: &mut ObjectFields) {
    let mut metric = ObjectFields::default();
    if let Some(name) = fields.take("metricName") {
        metric.set("name", name);
    }
    if let Some(selector) = fields.take("metricSelector").or_else(|| fields.take("selector")) {
        metric.set("selector", selector);
    }
    fields.set("metric", NodeValue::Object(metric.0).into());
}

fn target(source: &str, value: Option<Node>, average: Option<Node>, utilization: Option<Node>) -> Node {
    // The old type always had a value, so a zero next to an average means that the value was not set.
    let value = value.filter(|value| source != "object" || average.is_none() || !is_zero(value));
    let target_type = match source {
        "object" if average.is_some() => "AverageValue",
        "object" => "Value",
        "external" if value.is_some() => "Value",
        "resource" | "containerResource" if utilization.is_some() => "Utilization",
        _ => "AverageValue",
    };
    let amounts = [
        ("value", value),
        ("averageValue", average),
        ("averageUtilization", utilization),
    ];
    let mut target = ObjectFields(vec![("type".into(), Node::string(target_type))]);
    for (name, node) in amounts {
        if let Some(node) = node {
            target.set(name, node);
        }
    }
    NodeValue::Object(target.0).into()
}

fn present(node: Option<Node>) -> Option<Node> {
    node.filter(|node| node.value != NodeValue::Null)
}

fn is_zero(node: &Node) -> bool {
    let (NodeValue::Number(text) | NodeValue::String(text)) = &node.value else {
        return false;
    };
    text.parse::<Quantity>().is_ok_and(|quantity| quantity.signum() == 0)
}
