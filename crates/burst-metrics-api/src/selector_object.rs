//! Converts a label selector to the `LabelSelector` object that custom metrics carry.

use crate::objects::{LabelSelector, LabelSelectorRequirement};
use burst_labels::Selector;
use burst_labels::selector::{Operator, Requirement};

/// The selector as an object. `None` for an empty selector, and for `>` and `<`, which the object cannot express.
/// <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/label-selector/>
pub(crate) fn label_selector(selector: &Selector) -> Option<LabelSelector> {
    let requirements = selector.requirements();
    if requirements.is_empty() || requirements.iter().any(is_comparison) {
        return None;
    }
    let mut object = LabelSelector::default();
    for requirement in requirements {
        if is_equality(requirement) {
            let value = requirement.values.first().map(ToString::to_string).unwrap_or_default();
            object.match_labels.insert(requirement.key.to_string(), value);
        } else {
            object.match_expressions.push(expression(requirement));
        }
    }
    Some(object)
}

fn is_comparison(requirement: &Requirement) -> bool {
    matches!(requirement.operator, Operator::GreaterThan | Operator::LessThan)
}

fn is_equality(requirement: &Requirement) -> bool {
    matches!(requirement.operator, Operator::Equals | Operator::DoubleEquals)
}

fn expression(requirement: &Requirement) -> LabelSelectorRequirement {
    let operator = match requirement.operator {
        Operator::In => "In",
        Operator::Exists => "Exists",
        Operator::DoesNotExist => "DoesNotExist",
        _ => "NotIn",
    };
    LabelSelectorRequirement {
        key: requirement.key.to_string(),
        operator: operator.to_owned(),
        values: requirement.values.iter().map(ToString::to_string).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::label_selector;
    use serde_json::{Value, json};

    #[test]
    fn a_selector_is_written_as_an_object() {
        let expressions = json!([
            {"key": "x", "operator": "Exists"},
            {"key": "y", "operator": "DoesNotExist"},
            {"key": "z", "operator": "In", "values": ["a", "b"]},
        ]);
        for (selector, object) in [
            ("", Value::Null),
            ("a=b,c==d", json!({"matchLabels": {"a": "b", "c": "d"}})),
            (
                "a!=b",
                json!({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]}),
            ),
            (
                "x,!y,z in (b,a),k=v",
                json!({"matchLabels": {"k": "v"}, "matchExpressions": expressions}),
            ),
            ("a>1,b=c", Value::Null),
        ] {
            let written = serde_json::to_value(label_selector(&selector.parse().unwrap())).unwrap();
            assert_eq!(written, object, "{selector}");
        }
    }
}
