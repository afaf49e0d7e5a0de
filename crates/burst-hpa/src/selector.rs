//! Label selectors as the controller reads them, as in
//! <https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/apis/meta/v1/helpers.go>.
//!
//! The API server does not check a metric's selector, so this is the only check before the controller's.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use crate::validate::content;

/// The reason why a selector cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// None of the four operators.
    #[error("{operator:?} is no operator, expected In, NotIn, Exists or DoesNotExist")]
    Operator {
        /// The operator.
        operator: String,
    },
    /// `In` and `NotIn` need values.
    #[error("{key}: {operator} needs at least one value")]
    NoValues {
        /// Of the requirement.
        key: String,
        /// Of the requirement.
        operator: String,
    },
    /// `Exists` and `DoesNotExist` take no values.
    #[error("{key}: {operator} takes no values")]
    Values {
        /// Of the requirement.
        key: String,
        /// Of the requirement.
        operator: String,
    },
    /// Not a valid label key or value.
    #[error("{text:?}: {reason}")]
    Label {
        /// The key or value.
        text: String,
        /// The API server's message.
        reason: String,
    },
}

/// The first reason why the controller could not use this selector.
///
/// # Errors
/// See [`SelectorError`].
pub fn check(selector: &LabelSelector) -> Result<(), SelectorError> {
    for (key, value) in selector.match_labels.iter().flatten() {
        label(key, content::label_key(key))?;
        label(value, content::label_value(value))?;
    }
    selector.match_expressions.iter().flatten().try_for_each(requirement)
}

fn requirement(requirement: &LabelSelectorRequirement) -> Result<(), SelectorError> {
    let LabelSelectorRequirement { key, operator, values } = requirement;
    let values = values.as_deref().unwrap_or_default();
    let (key, operator) = (key.clone(), operator.clone());
    match operator.as_str() {
        "In" | "NotIn" if values.is_empty() => return Err(SelectorError::NoValues { key, operator }),
        "Exists" | "DoesNotExist" if !values.is_empty() => return Err(SelectorError::Values { key, operator }),
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        _ => return Err(SelectorError::Operator { operator }),
    }
    label(&key, content::label_key(&key))?;
    values
        .iter()
        .try_for_each(|value| label(value, content::label_value(value)))
}

fn label(text: &str, reasons: Vec<String>) -> Result<(), SelectorError> {
    match reasons.into_iter().next() {
        Some(reason) => Err(SelectorError::Label {
            text: text.to_owned(),
            reason,
        }),
        None => Ok(()),
    }
}

/// Returns whether labels satisfy every requirement. An empty selector matches everything.
#[must_use]
pub fn matches(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    let equal = selector
        .match_labels
        .iter()
        .flatten()
        .all(|(key, value)| labels.get(key) == Some(value));
    equal
        && selector
            .match_expressions
            .iter()
            .flatten()
            .all(|requirement| satisfied(requirement, labels))
}

fn satisfied(requirement: &LabelSelectorRequirement, labels: &BTreeMap<String, String>) -> bool {
    let value = labels.get(&requirement.key);
    let listed = value.is_some_and(|value| requirement.values.iter().flatten().any(|other| other == value));
    match requirement.operator.as_str() {
        "In" => listed,
        "NotIn" => !listed,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(operator: &str, values: &[&str]) -> LabelSelector {
        let values = (!values.is_empty()).then(|| values.iter().map(|value| (*value).to_owned()).collect());
        let requirement = LabelSelectorRequirement {
            key: "env".to_owned(),
            operator: operator.to_owned(),
            values,
        };
        LabelSelector {
            match_expressions: Some(vec![requirement]),
            match_labels: None,
        }
    }

    #[test]
    fn operators_need_fitting_values() {
        let table = [
            (
                expression("Near", &[]),
                r#""Near" is no operator, expected In, NotIn, Exists or DoesNotExist"#,
            ),
            (expression("In", &[]), "env: In needs at least one value"),
            (expression("Exists", &["a"]), "env: Exists takes no values"),
        ];
        for (selector, message) in table {
            assert_eq!(check(&selector).unwrap_err().to_string(), message);
        }
        assert!(
            check(&expression("In", &["a b"]))
                .unwrap_err()
                .to_string()
                .starts_with(r#""a b": a valid label"#)
        );
    }

    #[test]
    fn every_operator_selects() {
        let prod = BTreeMap::from([("env".to_owned(), "prod".to_owned())]);
        let table = [
            (expression("In", &["prod", "dev"]), true, false),
            (expression("NotIn", &["prod"]), false, true),
            (expression("Exists", &[]), true, false),
            (expression("DoesNotExist", &[]), false, true),
            (LabelSelector::default(), true, true),
        ];
        for (selector, labelled, bare) in table {
            assert_eq!(
                (matches(&selector, &prod), matches(&selector, &BTreeMap::new())),
                (labelled, bare),
                "{selector:?}"
            );
        }
    }
}
