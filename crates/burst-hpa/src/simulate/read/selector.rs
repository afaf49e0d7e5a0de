//! Metric selectors: the API server takes them unseen, and the controller then prints or refuses them.

use std::fmt::Write as _;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

/// As Go's `%+v` prints it.
pub(super) fn printed(selector: Option<&LabelSelector>) -> String {
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

/// Why the controller cannot use the selector.
pub(super) fn fault(selector: Option<&LabelSelector>) -> Option<String> {
    selector?.match_expressions.iter().flatten().find_map(requirement_fault)
}

fn requirement_fault(requirement: &LabelSelectorRequirement) -> Option<String> {
    let values = requirement.values.as_deref().unwrap_or_default();
    match requirement.operator.as_str() {
        "In" | "NotIn" if values.is_empty() => {
            Some("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty".to_owned())
        }
        "In" | "NotIn" => None,
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let quoted: Vec<_> = values.iter().map(|value| format!("{value:?}")).collect();
            let values = quoted.join(",");
            Some(format!(
                "values: Invalid value: [{values}]: values set must be empty for exists and does not exist"
            ))
        }
        "Exists" | "DoesNotExist" => None,
        operator => Some(format!("{operator:?} is not a valid label selector operator")),
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
            printed(Some(&selector)),
            "&LabelSelector{MatchLabels:map[string]string{app: web,},MatchExpressions:[]LabelSelectorRequirement{\
             LabelSelectorRequirement{Key:tier,Operator:In,Values:[a b],},},}"
        );
        assert_eq!(printed(None), "nil");
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
        }
    }
}
