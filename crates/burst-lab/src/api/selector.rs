//! Label and field selectors in the query of a list:
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#api>

use serde_json::Value;

/// One comma-separated part of a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Requirement {
    Exists(String),
    Missing(String),
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
}

/// All parts of a label selector; an empty one fits everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LabelSelector(Vec<Requirement>);

/// All parts of a field selector: field, value, and whether it must be equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldSelector(Vec<(String, String, bool)>);

impl LabelSelector {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let parts = split(text).into_iter().map(str::trim).filter(|part| !part.is_empty());
        parts.map(requirement).collect::<Result<_, _>>().map(LabelSelector)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn matches(&self, object: &Value) -> bool {
        let labels = object.pointer("/metadata/labels");
        let label = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str);
        self.0.iter().all(|requirement| match requirement {
            Requirement::Exists(key) => label(key).is_some(),
            Requirement::Missing(key) => label(key).is_none(),
            Requirement::In(key, values) => label(key).is_some_and(|value| values.iter().any(|v| v == value)),
            Requirement::NotIn(key, values) => !label(key).is_some_and(|value| values.iter().any(|v| v == value)),
        })
    }
}

/// Commas inside parentheses part values, not requirements.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let comma = move |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    };
    text.split(comma).collect()
}

fn requirement(part: &str) -> Result<Requirement, String> {
    if let Some((key, value)) = part.split_once("!=") {
        return Ok(Requirement::NotIn(label_key(key)?, vec![value.trim().to_owned()]));
    }
    if let Some((key, value)) = part.split_once('=') {
        return Ok(Requirement::In(
            label_key(key)?,
            vec![value.trim_start_matches('=').trim().to_owned()],
        ));
    }
    if let Some(key) = part.strip_prefix('!') {
        return Ok(Requirement::Missing(label_key(key)?));
    }
    match part.split_once(char::is_whitespace) {
        None => Ok(Requirement::Exists(label_key(part)?)),
        Some((key, set)) => membership(key, set.trim()),
    }
}

fn membership(key: &str, set: &str) -> Result<Requirement, String> {
    let key = label_key(key)?;
    if let Some(set) = set.strip_prefix("notin") {
        return Ok(Requirement::NotIn(key, values(set)?));
    }
    match set.strip_prefix("in") {
        Some(set) => Ok(Requirement::In(key, values(set)?)),
        None => Err(unparsed(&format!(
            "found '{set}', expected: in, notin, =, ==, !=, gt, lt"
        ))),
    }
}

fn values(set: &str) -> Result<Vec<String>, String> {
    let inner = set.trim().strip_prefix('(').and_then(|set| set.strip_suffix(')'));
    let inner = inner.ok_or_else(|| unparsed("found '', expected: ',' or ')'"))?;
    Ok(inner.split(',').map(|value| value.trim().to_owned()).collect())
}

fn label_key(key: &str) -> Result<String, String> {
    let key = key.trim();
    let legal = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if !key.is_empty() && key.chars().all(legal) {
        return Ok(key.to_owned());
    }
    Err(unparsed(&format!("found '{key}', expected: identifier")))
}

fn unparsed(why: &str) -> String {
    format!("unable to parse requirement: {why}")
}

impl FieldSelector {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split(',').filter(|part| !part.is_empty());
        parts
            .map(|part| field(text, part))
            .collect::<Result<_, _>>()
            .map(FieldSelector)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn matches(&self, object: &Value) -> bool {
        let field = |name: &str| {
            object["metadata"][name.trim_start_matches("metadata.")]
                .as_str()
                .unwrap_or_default()
        };
        self.0
            .iter()
            .all(|(name, value, equal)| (field(name) == value) == *equal)
    }
}

fn field(whole: &str, part: &str) -> Result<(String, String, bool), String> {
    let unequal = part.split_once("!=").map(|(name, value)| (name, value, false));
    let equal = part
        .split_once('=')
        .map(|(name, value)| (name, value.trim_start_matches('='), true));
    let unparsed = || format!("invalid selector: '{whole}'; can't understand '{part}'");
    let (name, value, equal) = unequal.or(equal).ok_or_else(unparsed)?;
    if !["metadata.name", "metadata.namespace"].contains(&name) {
        return Err(format!(
            "{name:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        ));
    }
    Ok((name.to_owned(), value.to_owned(), equal))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn label_selectors_choose_as_the_documentation_says() {
        let object = json!({ "metadata": { "labels": { "app": "web", "tier": "front" } } });
        let cases = [
            ("", true),
            ("app=web", true),
            ("app==web,tier!=back", true),
            ("app=api", false),
            ("app!=web", false),
            ("zone!=a", true),
            ("app", true),
            ("!app", false),
            ("!zone", true),
            ("app in (api, web),tier in (front)", true),
            ("app notin (api,web)", false),
            ("zone notin (a)", true),
            ("zone in (a)", false),
        ];
        for (selector, wanted) in cases {
            assert_eq!(
                LabelSelector::parse(selector).unwrap().matches(&object),
                wanted,
                "{selector}"
            );
        }
    }

    #[test]
    fn what_is_no_selector_is_told_in_the_words_of_a_real_server() {
        let labels = |text| LabelSelector::parse(text).unwrap_err();
        let prefix = "unable to parse requirement: ";
        assert_eq!(
            labels("a b"),
            format!("{prefix}found 'b', expected: in, notin, =, ==, !=, gt, lt")
        );
        assert_eq!(labels("n in (1"), format!("{prefix}found '', expected: ',' or ')'"));
        let fields = |text| FieldSelector::parse(text).unwrap_err();
        assert_eq!(fields("a"), "invalid selector: 'a'; can't understand 'a'");
        let known = "only \"metadata.name\", \"metadata.namespace\"";
        assert_eq!(
            fields("spec.x=1"),
            format!("\"spec.x\" is not a known field selector: {known}")
        );
    }

    #[test]
    fn field_selectors_know_name_and_namespace() {
        let object = json!({ "metadata": { "name": "web", "namespace": "shop" } });
        let fits = |text| FieldSelector::parse(text).unwrap().matches(&object);
        assert!(fits("metadata.name=web,metadata.namespace!=default"));
        assert!(!fits("metadata.name==api"));
    }
}
