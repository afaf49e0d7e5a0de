//! Field selectors in the query of a list. Label selectors are those of [`burst_labels`].
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/>

use serde_json::Value;

/// The fields that every resource of a real API server supports.
const SUPPORTED: [&str; 2] = ["metadata.name", "metadata.namespace"];

/// The terms of a field selector; one without terms matches every object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldSelector(Vec<Term>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    field: String,
    value: String,
    /// False for `!=`.
    equal: bool,
}

impl FieldSelector {
    /// Parses a selector; the error is the message of a real API server.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split(',').filter(|part| !part.is_empty());
        let terms: Result<_, _> = parts.map(|part| Term::parse(text, part)).collect();
        terms.map(FieldSelector)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn matches(&self, object: &Value) -> bool {
        self.0.iter().all(|term| term.matches(object))
    }
}

impl Term {
    fn parse(selector: &str, part: &str) -> Result<Self, String> {
        let (field, value, equal) = if let Some((field, value)) = part.split_once("!=") {
            (field, value, false)
        } else if let Some((field, value)) = part.split_once('=') {
            (field, value.trim_start_matches('='), true)
        } else {
            return Err(format!("invalid selector: '{selector}'; can't understand '{part}'"));
        };
        if !SUPPORTED.contains(&field) {
            return Err(format!(
                "{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
            ));
        }
        Ok(Term {
            field: field.to_owned(),
            value: value.to_owned(),
            equal,
        })
    }

    fn matches(&self, object: &Value) -> bool {
        let key = self.field.trim_start_matches("metadata.");
        let found = object["metadata"][key].as_str().unwrap_or_default();
        (found == self.value) == self.equal
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_invalid_field_selector_is_reported_as_by_a_real_server() {
        let error = |text| FieldSelector::parse(text).unwrap_err();
        assert_eq!(error("a"), "invalid selector: 'a'; can't understand 'a'");
        assert_eq!(
            error("spec.x=1"),
            "\"spec.x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        );
    }

    #[test]
    fn field_selectors_match_name_and_namespace() {
        let object = json!({ "metadata": { "name": "web", "namespace": "shop" } });
        let matches = |text| FieldSelector::parse(text).unwrap().matches(&object);
        assert!(matches("metadata.name=web,metadata.namespace!=default"));
        assert!(!matches("metadata.name==api"));
    }
}
