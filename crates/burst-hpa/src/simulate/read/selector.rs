//! Metric selectors. The API server does not check them; the controller prints or refuses them.

use std::fmt::Write as _;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use crate::validate::content;

/// Returns the selector as Go's `%+v` prints it.
pub(super) fn go_format(selector: Option<&LabelSelector>) -> String {
    let Some(selector) = selector else {
        return "nil".to_owned();
    };
    let mut text = "&LabelSelector{MatchLabels:map[string]string{".to_owned();
    for (key, value) in selector.match_labels.iter().flatten() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{key}: {value},");
    }
    text.push_str("},MatchExpressions:[]LabelSelectorRequirement{");
    for LabelSelectorRequirement { key, operator, values } in selector.match_expressions.iter().flatten() {
        let values = values.as_deref().unwrap_or_default().join(" ");
        let _ = write!(
            text,
            "LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},"
        );
    }
    text.push_str("},}");
    text
}

/// Returns why the controller cannot use the selector: the error of `LabelSelectorAsSelector`. Go visits labels in any
/// order, so with several invalid ones it may report another.
pub(super) fn fault(selector: Option<&LabelSelector>) -> Option<String> {
    let LabelSelector {
        match_labels,
        match_expressions,
    } = selector?;
    let label = |(key, value): (&String, &String)| aggregate(&faults(key, std::slice::from_ref(value), None));
    match_labels
        .iter()
        .flatten()
        .find_map(label)
        .or_else(|| match_expressions.iter().flatten().find_map(expression))
}

fn expression(requirement: &LabelSelectorRequirement) -> Option<String> {
    let values = requirement.values.as_deref().unwrap_or_default();
    let fault = match requirement.operator.as_str() {
        "In" | "NotIn" if values.is_empty() => Some("for 'in', 'notin' operators, values set can't be empty"),
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            Some("values set must be empty for exists and does not exist")
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => None,
        operator => return Some(format!("{operator:?} is not a valid label selector operator")),
    };
    aggregate(&faults(&requirement.key, values, fault))
}

/// All errors of a requirement: its key, the number of its values, and each value.
fn faults(key: &str, values: &[String], number: Option<&str>) -> Vec<String> {
    let key_fault = join_faults(&content::label_key(key)).map(|fault| format!("key: Invalid value: {key:?}: {fault}"));
    let number_fault = number.map(|fault| format!("values: Invalid value: {}: {fault}", printed_values(values)));
    let value_faults = values.iter().enumerate().filter_map(|(index, value)| {
        let fault = join_faults(&content::label_value(value))?;
        Some(format!("values[{index}][{key}]: Invalid value: {value:?}: {fault}"))
    });
    key_fault.into_iter().chain(number_fault).chain(value_faults).collect()
}

fn join_faults(faults: &[String]) -> Option<String> {
    (!faults.is_empty()).then(|| faults.join("; "))
}

/// Returns the values as JSON. Go has dropped an empty list by then.
fn printed_values(values: &[String]) -> String {
    let quoted: Vec<_> = values.iter().map(|value| format!("{value:?}")).collect();
    if quoted.is_empty() {
        "null".to_owned()
    } else {
        format!("[{}]", quoted.join(","))
    }
}

fn aggregate(faults: &[String]) -> Option<String> {
    match faults {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(format!("[{}]", several.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn requirement(operator: &str, values: &[&str]) -> LabelSelectorRequirement {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        LabelSelectorRequirement {
            key: "tier".to_owned(),
            operator: operator.to_owned(),
            values: Some(values),
        }
    }

    #[test]
    fn selectors_print_as_go_prints_them() {
        let selector = LabelSelector {
            match_labels: Some(BTreeMap::from([("app".to_owned(), "web".to_owned())])),
            match_expressions: Some(vec![requirement("In", &["a", "b"])]),
        };
        assert_eq!(
            go_format(Some(&selector)),
            "&LabelSelector{MatchLabels:map[string]string{app: web,},MatchExpressions:[]LabelSelectorRequirement{\
             LabelSelectorRequirement{Key:tier,Operator:In,Values:[a b],},},}"
        );
        assert_eq!(go_format(None), "nil");
    }

    #[test]
    fn operators_and_their_values_must_agree() {
        for (operator, values, sound) in [
            ("In", &["a"][..], true),
            ("In", &[], false),
            ("NotIn", &[], false),
            ("Exists", &[], true),
            ("DoesNotExist", &["a"], false),
            ("Like", &["a"], false),
        ] {
            let match_expressions = Some(vec![requirement(operator, values)]);
            let selector = LabelSelector {
                match_expressions,
                match_labels: None,
            };
            assert_eq!(fault(Some(&selector)).is_none(), sound, "{operator} {values:?}");
            assert_eq!(
                crate::selector::check(&selector).is_ok(),
                sound,
                "{operator} {values:?}"
            );
        }
    }
}
