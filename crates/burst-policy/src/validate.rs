//! Checks a [`RawPolicySpec`] and converts it to a [`Policy`]. An error names the path of the wrong value.

use crate::cost::{self, LimitExceeded, MAX_RULES};
use crate::labels::LabelConstraints;
use crate::pattern::{Pattern, PatternError};
use crate::policy::{Policy, Rule, RuleEffect};
use crate::raw::{LabelSelector, LabelSelectorRequirement, RawPolicySpec, RawRule};
use crate::rule_cache::RuleCache;
use burst_kube::json;
use burst_labels::content;

/// The largest number of subjects in a policy.
const MAX_SUBJECTS: usize = 100;
/// The largest number of requirements in a selector, which is also the limit for a request.
const MAX_REQUIREMENTS: usize = 32;
/// The largest number of values in a requirement.
const MAX_VALUES: usize = 100;

/// Why a policy is invalid, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {kind}")]
pub struct PolicyError {
    /// The path of the wrong value, such as `rules[2].metric`.
    pub path: String,
    /// The error.
    pub kind: PolicyErrorKind,
}

/// An error in a policy, without its path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyErrorKind {
    /// The text is not JSON, a key is unknown, or a value has the wrong type.
    #[error("{0}")]
    Parse(String),
    /// A list or name is empty.
    #[error("is empty; {0}")]
    Empty(&'static str),
    /// A list has too many items.
    #[error("has {count}; {most} are allowed")]
    TooMany {
        /// The number of items.
        count: usize,
        /// The largest allowed number.
        most: usize,
    },
    /// The policy takes too much time or memory.
    #[error("up to here the policy has {0}")]
    LimitExceeded(#[from] LimitExceeded),
    /// A rule has both a selector and `deny`.
    #[error("has both a selector and deny; a rule has one of them")]
    SelectorAndDeny,
    /// A rule has neither a selector nor `deny`.
    #[error("has neither a selector nor deny; `selector: {{}}` allows everything")]
    NoEffect,
    /// A rule has `deny: false`.
    #[error("is false; leave it out, and give a selector")]
    DenyFalse,
    /// A pattern is invalid.
    #[error("{0}")]
    Pattern(#[from] PatternError),
    /// The text is not a valid label key or value.
    #[error("{text:?} is not a valid label: {reason}")]
    InvalidLabel {
        /// The text.
        text: String,
        /// The message of the API server.
        reason: String,
    },
    /// The operator is unknown.
    #[error("{0:?} is not an operator; allowed are In, NotIn, Exists and DoesNotExist")]
    UnknownOperator(String),
    /// An operator that takes no values has some, or one that needs values has none.
    #[error("{0}")]
    ValueCount(&'static str),
    /// The selector contradicts itself and selects nothing.
    #[error("contradicts itself about {0:?}, and so selects nothing; `deny: true` says that")]
    SelectsNothing(String),
}

impl PolicyErrorKind {
    fn at(self, path: impl Into<String>) -> PolicyError {
        PolicyError {
            path: path.into(),
            kind: self,
        }
    }
}

impl Policy {
    /// Reads the JSON of a `spec`. The policy applies to `namespace`, or to all namespaces if that is `None`.
    ///
    /// # Errors
    /// Returns the first error, with the path of the wrong value.
    pub fn parse(name: &str, namespace: Option<&str>, spec: &str) -> Result<Self, PolicyError> {
        let spec: RawPolicySpec = json::read_with_path(spec.as_bytes()).map_err(|error| {
            let path = match error.path() {
                "" => ".",
                path => path,
            };
            PolicyErrorKind::Parse(error.reason().to_owned()).at(path)
        })?;
        Self::new(name, namespace, &spec)
    }

    /// Checks a `spec`.
    ///
    /// # Errors
    /// Returns the first error, with the path of the wrong value.
    pub fn new(name: &str, namespace: Option<&str>, spec: &RawPolicySpec) -> Result<Self, PolicyError> {
        let subjects = spec.subjects.as_deref();
        if subjects.is_some_and(<[_]>::is_empty) {
            return Err(PolicyErrorKind::Empty("leave it out if the policy applies to everyone").at("subjects"));
        }
        let subjects = subjects.unwrap_or_default();
        at_most(subjects.len(), MAX_SUBJECTS).map_err(|kind| kind.at("subjects"))?;
        if let Some(index) = subjects.iter().position(|subject| subject.name.is_empty()) {
            return Err(PolicyErrorKind::Empty("name a user or a group").at(format!("subjects[{index}].name")));
        }
        if spec.rules.is_empty() {
            return Err(PolicyErrorKind::Empty("a policy has at least one rule").at("rules"));
        }
        at_most(spec.rules.len(), MAX_RULES).map_err(|kind| kind.at("rules"))?;
        let rules: Vec<_> = (spec.rules.iter().enumerate())
            .map(|(index, raw)| {
                rule(raw).map_err(|PolicyError { path: below, kind }| kind.at(format!("rules[{index}]{below}")))
            })
            .collect::<Result<_, _>>()?;
        cost::check_rules(subjects, &rules)
            .map_err(|(index, excess)| PolicyErrorKind::from(excess).at(format!("rules[{index}]")))?;
        Ok(Self {
            name: name.into(),
            namespace: namespace.map(Into::into),
            subjects: subjects.to_vec(),
            rules,
            rule_cache: RuleCache::default(),
        })
    }
}

fn at_most(count: usize, most: usize) -> Result<(), PolicyErrorKind> {
    match count <= most {
        true => Ok(()),
        false => Err(PolicyErrorKind::TooMany { count, most }),
    }
}

fn rule(raw: &RawRule) -> Result<Rule, PolicyError> {
    let pattern = Pattern::parse(&raw.metric).map_err(|bad| PolicyErrorKind::from(bad).at(".metric"))?;
    let effect = match (&raw.selector, raw.deny) {
        (Some(_), Some(_)) => return Err(PolicyErrorKind::SelectorAndDeny.at("")),
        (None, None) => return Err(PolicyErrorKind::NoEffect.at("")),
        (None, Some(false)) => return Err(PolicyErrorKind::DenyFalse.at(".deny")),
        (None, Some(true)) => RuleEffect::Deny,
        (Some(selector), None) => {
            allow_within(selector).map_err(|PolicyError { path, kind }| kind.at(format!(".selector{path}")))?
        }
    };
    Ok(Rule { pattern, effect })
}

fn allow_within(selector: &LabelSelector) -> Result<RuleEffect, PolicyError> {
    let labels = selector.match_labels.iter().flatten();
    let expressions = selector.match_expressions.as_deref().unwrap_or_default();
    at_most(labels.clone().count() + expressions.len(), MAX_REQUIREMENTS).map_err(|kind| kind.at(""))?;
    for (key, value) in labels.clone() {
        let path = || format!(".matchLabels.{key}");
        label(key, &content::label_key(key)).map_err(|kind| kind.at(path()))?;
        label(value, &content::label_value(value)).map_err(|kind| kind.at(path()))?;
    }
    for (index, raw) in expressions.iter().enumerate() {
        expression(raw)
            .map_err(|PolicyError { path: below, kind }| kind.at(format!(".matchExpressions[{index}]{below}")))?;
    }
    let selected = LabelConstraints::from_label_selector(selector)
        .map_err(|operator| PolicyErrorKind::UnknownOperator(operator.into()).at(""))?;
    if let Some(key) = selected.contradiction() {
        return Err(PolicyErrorKind::SelectsNothing(key.into()).at(""));
    }
    let texts: Vec<_> = labels
        .map(|(key, value)| format!("{key}={value}"))
        .chain(expressions.iter().map(LabelSelectorRequirement::to_string))
        .collect();
    Ok(RuleEffect::AllowWithin {
        selected,
        text: texts.join(",").into(),
    })
}

fn expression(
    LabelSelectorRequirement { key, operator, values }: &LabelSelectorRequirement,
) -> Result<(), PolicyError> {
    label(key, &content::label_key(key)).map_err(|kind| kind.at(".key"))?;
    let values = values.as_deref().unwrap_or_default();
    let kind = match (operator.as_str(), values.is_empty()) {
        ("In" | "NotIn", true) => Some(PolicyErrorKind::ValueCount("is empty; In and NotIn need a value")),
        ("Exists" | "DoesNotExist", false) => Some(PolicyErrorKind::ValueCount(
            "is not empty; Exists and DoesNotExist take no value",
        )),
        ("In" | "NotIn", false) => at_most(values.len(), MAX_VALUES).err(),
        ("Exists" | "DoesNotExist", true) => None,
        (other, _) => return Err(PolicyErrorKind::UnknownOperator(other.into()).at(".operator")),
    };
    if let Some(kind) = kind {
        return Err(kind.at(".values"));
    }
    for (index, value) in values.iter().enumerate() {
        label(value, &content::label_value(value)).map_err(|kind| kind.at(format!(".values[{index}]")))?;
    }
    Ok(())
}

fn label(text: &str, reasons: &[String]) -> Result<(), PolicyErrorKind> {
    reasons.first().map_or(Ok(()), |reason| {
        Err(PolicyErrorKind::InvalidLabel {
            text: text.into(),
            reason: reason.clone(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn refusal(spec: &str) -> String {
        Policy::parse("p", None, spec).map_or_else(|bad| bad.to_string(), |policy| format!("{policy:?} is fine"))
    }

    fn refusal_of_rule(rule: &str) -> String {
        refusal(&format!(r#"{{"rules":[{{"metric":"a","deny":true}},{rule}]}}"#))
    }

    #[test]
    fn an_error_in_a_policy_names_its_path() {
        let many = format!(
            r#"{{"rules":[{}]}}"#,
            vec![r#"{"metric":"a","deny":true}"#; 1001].join(",")
        );
        for (spec, said) in [
            ("{}", ".: missing field `rules`"),
            (r#"{"rules":[]}"#, "rules: is empty; a policy has at least one rule"),
            (
                r#"{"rules":[],"rule":1}"#,
                "rule: unknown field `rule`, expected `subjects` or `rules`",
            ),
            (r#"{"rules":[{}]}"#, "rules[0]: missing field `metric`"),
            (r#"{"rules":[null]}"#, "rules[0]: invalid type: null"),
            (
                r#"{"subjects":[],"rules":[{"metric":"a","deny":true}]}"#,
                "subjects: is empty; leave it out",
            ),
            (
                r#"{"subjects":[{"kind":"Robot","name":"a"}],"rules":[]}"#,
                "subjects[0].kind: unknown variant `Robot`, expected `User` or `Group`",
            ),
            (
                r#"{"subjects":[{"kind":"User","name":""}],"rules":[]}"#,
                "subjects[0].name: is empty",
            ),
            (&many, "rules: has 1001; 1000 are allowed"),
        ] {
            assert!(refusal(spec).starts_with(said), "{spec}: {}", refusal(spec));
        }
    }

    #[test]
    fn a_rule_has_one_valid_effect() {
        let expression = |json: &str| format!(r#"{{"metric":"a","selector":{{"matchExpressions":[{json}]}}}}"#);
        let labels = |json: &str| format!(r#"{{"metric":"a","selector":{{"matchLabels":{json}}}}}"#);
        for (rule, said) in [
            (r#"{"metric":"a"}"#.into(), "rules[1]: has neither a selector nor deny"),
            (
                r#"{"metric":"a","selector":{},"deny":true}"#.into(),
                "rules[1]: has both a selector and deny",
            ),
            (
                r#"{"metric":"a","deny":false}"#.into(),
                "rules[1].deny: is false; leave it out",
            ),
            (
                r#"{"metric":"(","deny":true}"#.into(),
                "rules[1].metric: `(` is not closed",
            ),
            (
                r#"{"metric":"a","allow":true}"#.into(),
                "rules[1].allow: unknown field `allow`",
            ),
            (
                labels(r#"{"a/b/c":"x"}"#),
                r#"rules[1].selector.matchLabels.a/b/c: "a/b/c" is not a valid label"#,
            ),
            (
                labels(r#"{"a":"x y"}"#),
                r#"rules[1].selector.matchLabels.a: "x y" is not a valid label"#,
            ),
            (
                expression(r#"{"key":"-","operator":"Exists"}"#),
                "rules[1].selector.matchExpressions[0].key: \"-\"",
            ),
            (
                expression(r#"{"key":"a","operator":"Is"}"#),
                "rules[1].selector.matchExpressions[0].operator: \"Is\" is not",
            ),
            (
                expression(r#"{"key":"a","operator":"In"}"#),
                "rules[1].selector.matchExpressions[0].values: is empty",
            ),
            (
                expression(r#"{"key":"a","operator":"Exists","values":["b"]}"#),
                "rules[1].selector.matchExpressions[0].values: is not empty",
            ),
            (
                expression(r#"{"key":"a","operator":"In","values":["b","/"]}"#),
                "rules[1].selector.matchExpressions[0].values[1]: \"/\" is not a valid label",
            ),
            (
                expression(
                    r#"{"key":"a","operator":"In","values":["b"]},{"key":"a","operator":"NotIn","values":["b"]}"#,
                ),
                "rules[1].selector: contradicts itself about \"a\", and so selects nothing",
            ),
            (
                expression(r#"{"key":"a","operator":"Exists"},{"key":"a","operator":"DoesNotExist"}"#),
                "rules[1].selector: contradicts itself about \"a\"",
            ),
        ] {
            assert!(
                refusal_of_rule(&rule).starts_with(said),
                "{rule}: {}",
                refusal_of_rule(&rule)
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_policy_or_an_error(spec in ".{0,99}") {
            let _ = Policy::parse("p", None, &spec);
        }
    }
}
