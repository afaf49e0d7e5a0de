//! Writes a label selector as the `LabelSelector` object that custom metrics carry.

use crate::json::{JsonString, comma_separated};
use burst_labels::Selector;
use burst_labels::selector::{Operator, Requirement};

/// The selector as a `LabelSelector`. Returns `null` for an empty selector, and for `>` and `<`, which the object form
/// cannot express.
/// <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/label-selector/>
pub(crate) fn label_selector_json(selector: &Selector) -> String {
    let requirements = selector.requirements();
    if requirements.is_empty() || requirements.iter().any(is_comparison) {
        return "null".to_owned();
    }
    let labels = comma_separated(requirements.iter().filter(|item| is_equality(item)).map(match_label));
    let expressions = comma_separated(requirements.iter().filter(|item| !is_equality(item)).map(expression));
    let match_labels = (!labels.is_empty()).then(|| format!(r#""matchLabels":{{{labels}}}"#));
    let match_expressions = (!expressions.is_empty()).then(|| format!(r#""matchExpressions":[{expressions}]"#));
    format!(
        "{{{}}}",
        comma_separated(match_labels.into_iter().chain(match_expressions))
    )
}

fn is_comparison(requirement: &Requirement) -> bool {
    matches!(requirement.operator, Operator::GreaterThan | Operator::LessThan)
}

fn is_equality(requirement: &Requirement) -> bool {
    matches!(requirement.operator, Operator::Equals | Operator::DoubleEquals)
}

fn match_label(requirement: &Requirement) -> String {
    let value = requirement.values.first().map(|value| &**value).unwrap_or_default();
    format!("{}:{}", JsonString(&requirement.key), JsonString(value))
}

fn expression(requirement: &Requirement) -> String {
    let operator = match requirement.operator {
        Operator::In => "In",
        Operator::Exists => "Exists",
        Operator::DoesNotExist => "DoesNotExist",
        _ => "NotIn",
    };
    let values = comma_separated(requirement.values.iter().map(|value| JsonString(value)));
    let values_field = if values.is_empty() {
        values
    } else {
        format!(r#","values":[{values}]"#)
    };
    format!(
        r#"{{"key":{},"operator":"{operator}"{values_field}}}"#,
        JsonString(&requirement.key)
    )
}

#[cfg(test)]
mod tests {
    use super::label_selector_json;

    #[test]
    fn a_selector_is_written_as_an_object() {
        for (selector, object) in [
            ("", "null"),
            ("a=b,c==d", r#"{"matchLabels":{"a":"b","c":"d"}}"#),
            (
                "a!=b",
                r#"{"matchExpressions":[{"key":"a","operator":"NotIn","values":["b"]}]}"#,
            ),
            (
                "x,!y,z in (b,a),k=v",
                r#"{"matchLabels":{"k":"v"},"matchExpressions":[{"key":"x","operator":"Exists"},{"key":"y","operator":"DoesNotExist"},{"key":"z","operator":"In","values":["a","b"]}]}"#,
            ),
            ("a>1,b=c", "null"),
        ] {
            assert_eq!(label_selector_json(&selector.parse().unwrap()), object, "{selector}");
        }
    }
}
