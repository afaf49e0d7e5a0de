//! The selector of metric labels, as custom metrics say it back.

use super::json::{Quoted, list};
use burst_labels::Selector;
use burst_labels::selector::{Operator, Requirement};

/// The selector as an object; null where it cannot be one.
/// <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/label-selector/>
pub(super) fn echo(selector: &Selector) -> String {
    let requirements = selector.requirements();
    let has_order =
        |requirement: &Requirement| matches!(requirement.operator, Operator::GreaterThan | Operator::LessThan);
    if requirements.is_empty() || requirements.iter().any(has_order) {
        return "null".to_owned();
    }
    let is_label =
        |requirement: &&Requirement| matches!(requirement.operator, Operator::Equals | Operator::DoubleEquals);
    let labels = requirements.iter().filter(is_label).map(|requirement| {
        let value = requirement.values.first().map(|value| &**value).unwrap_or_default();
        format!("{}:{}", Quoted(&requirement.key), Quoted(value))
    });
    let expressions = requirements
        .iter()
        .filter(|requirement| !is_label(requirement))
        .map(expression);
    let (labels, expressions) = (list(labels), list(expressions));
    let labels = (!labels.is_empty()).then(|| format!(r#""matchLabels":{{{labels}}}"#));
    let expressions = (!expressions.is_empty()).then(|| format!(r#""matchExpressions":[{expressions}]"#));
    format!("{{{}}}", list(labels.into_iter().chain(expressions)))
}

fn expression(requirement: &Requirement) -> String {
    let operator = match requirement.operator {
        Operator::In => "In",
        Operator::Exists => "Exists",
        Operator::DoesNotExist => "DoesNotExist",
        _ => "NotIn",
    };
    let values = list(requirement.values.iter().map(|value| Quoted(value)));
    let values = if values.is_empty() {
        values
    } else {
        format!(r#","values":[{values}]"#)
    };
    format!(
        r#"{{"key":{},"operator":"{operator}"{values}}}"#,
        Quoted(&requirement.key)
    )
}

#[cfg(test)]
mod tests {
    use super::echo;

    #[test]
    fn a_selector_is_echoed_as_an_object() {
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
            assert_eq!(echo(&selector.parse().unwrap()), object, "{selector}");
        }
    }
}
