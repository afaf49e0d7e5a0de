//! From the words to a policy: each refusal says where.

use crate::cost::{self, LimitExceeded, MOST_RULES};
use crate::decided::Decided;
use crate::labels::Labels;
use crate::pattern::{BadPattern, Pattern};
use crate::policy::{Policy, Rule, Ruling};
use crate::words::{self, Expression, LabelSelector, Spec};
use burst_labels::content;

/// Subjects of one policy.
const MOST_SUBJECTS: usize = 100;
/// Requirements of a selector, as many as a query may have.
const MOST_REQUIREMENTS: usize = 32;
/// Values of a requirement.
const MOST_VALUES: usize = 100;

/// Why a policy is refused, and where in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {fault}")]
pub struct BadPolicy {
    /// Such as `rules[2].metric`.
    pub place: String,
    /// Why.
    pub fault: Fault,
}

/// Why a policy is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Not JSON, an unknown key, or a value of another type.
    #[error("{0}")]
    Words(String),
    /// A list without anything in it.
    #[error("is empty; {0}")]
    Empty(&'static str),
    /// More than can be decided in time.
    #[error("has {count}; {most} are allowed")]
    TooMany {
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// More than the filter can decide in time, or keep.
    #[error("up to here the policy has {0}")]
    LimitExceeded(#[from] LimitExceeded),
    /// A rule that says two things.
    #[error("has both a selector and deny; a rule has one of them")]
    Both,
    /// A rule that says nothing.
    #[error("has neither a selector nor deny; `selector: {{}}` lets everything pass")]
    Neither,
    /// `deny: false`
    #[error("is false; leave it out, and give a selector")]
    DenyFalse,
    /// A pattern that is none.
    #[error("{0}")]
    Pattern(#[from] BadPattern),
    /// A text that is no label's key or value.
    #[error("{text:?} is no label: {reason}")]
    Label {
        /// The text.
        text: String,
        /// In the API server's words.
        reason: String,
    },
    /// Not one of the four.
    #[error("{0:?} is no operator; there are In, NotIn, Exists and DoesNotExist")]
    Operator(String),
    /// Values where none can be, or none where some must be.
    #[error("{0}")]
    Values(&'static str),
    /// A selector that selects nothing.
    #[error("contradicts itself about {0:?}, and so selects nothing; `deny: true` says that")]
    Contradiction(String),
}

impl Fault {
    fn at(self, place: impl Into<String>) -> BadPolicy {
        BadPolicy {
            place: place.into(),
            fault: self,
        }
    }
}

impl Policy {
    /// Takes the JSON of a `spec`. `namespace` is where it applies, `None` for everywhere.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn parse(name: &str, namespace: Option<&str>, spec: &str) -> Result<Self, BadPolicy> {
        let spec: Spec = burst_words::read(spec.as_bytes()).map_err(|refusal| {
            // As messages name what is not below any key.
            let place = Some(refusal.path()).filter(|path| !path.is_empty()).unwrap_or(".");
            Fault::Words(refusal.reason().to_owned()).at(place)
        })?;
        Self::new(name, namespace, &spec)
    }

    /// Checks the words of a `spec`.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn new(name: &str, namespace: Option<&str>, spec: &Spec) -> Result<Self, BadPolicy> {
        let subjects = spec.subjects.as_deref();
        if subjects.is_some_and(<[_]>::is_empty) {
            return Err(Fault::Empty("leave it out if the policy is for everybody").at("subjects"));
        }
        let subjects = subjects.unwrap_or_default();
        few(subjects.len(), MOST_SUBJECTS).map_err(|fault| fault.at("subjects"))?;
        if let Some(place) = subjects.iter().position(|subject| subject.name.is_empty()) {
            return Err(Fault::Empty("name a user or a group").at(format!("subjects[{place}].name")));
        }
        if spec.rules.is_empty() {
            return Err(Fault::Empty("a policy has at least one rule").at("rules"));
        }
        few(spec.rules.len(), MOST_RULES).map_err(|fault| fault.at("rules"))?;
        let rules = spec.rules.iter().enumerate().map(|(place, words)| {
            let at = |BadPolicy { place: below, fault }: BadPolicy| fault.at(format!("rules[{place}]{below}"));
            rule(words).map_err(at)
        });
        let rules: Vec<_> = rules.collect::<Result<_, _>>()?;
        cost::of_rules(subjects, &rules)
            .map_err(|(place, excess)| Fault::from(excess).at(format!("rules[{place}]")))?;
        Ok(Self {
            name: name.into(),
            namespace: namespace.map(Into::into),
            subjects: subjects.to_vec(),
            rules,
            decided: Decided::default(),
        })
    }
}

fn few(count: usize, most: usize) -> Result<(), Fault> {
    match count <= most {
        true => Ok(()),
        false => Err(Fault::TooMany { count, most }),
    }
}

fn rule(words: &words::Rule) -> Result<Rule, BadPolicy> {
    let pattern = Pattern::parse(&words.metric).map_err(|bad| Fault::from(bad).at(".metric"))?;
    let ruling = match (&words.selector, words.deny) {
        (Some(_), Some(_)) => return Err(Fault::Both.at("")),
        (None, None) => return Err(Fault::Neither.at("")),
        (None, Some(false)) => return Err(Fault::DenyFalse.at(".deny")),
        (None, Some(true)) => Ruling::Deny,
        (Some(selector), None) => {
            within(selector).map_err(|BadPolicy { place, fault }| fault.at(format!(".selector{place}")))?
        }
    };
    Ok(Rule { pattern, ruling })
}

fn within(selector: &LabelSelector) -> Result<Ruling, BadPolicy> {
    let labels = selector.match_labels.iter().flatten();
    let expressions = selector.match_expressions.as_deref().unwrap_or_default();
    few(labels.clone().count() + expressions.len(), MOST_REQUIREMENTS).map_err(|fault| fault.at(""))?;
    for (key, value) in labels.clone() {
        let place = || format!(".matchLabels.{key}");
        label(key, &content::label_key(key)).map_err(|fault| fault.at(place()))?;
        label(value, &content::label_value(value)).map_err(|fault| fault.at(place()))?;
    }
    for (place, words) in expressions.iter().enumerate() {
        expression(words)
            .map_err(|BadPolicy { place: below, fault }| fault.at(format!(".matchExpressions[{place}]{below}")))?;
    }
    let selected = Labels::of_object(selector).map_err(|operator| Fault::Operator(operator.into()).at(""))?;
    if let Some(key) = selected.contradiction() {
        return Err(Fault::Contradiction(key.into()).at(""));
    }
    let labels = labels.map(|(key, value)| format!("{key}={value}"));
    let texts: Vec<_> = labels.chain(expressions.iter().map(Expression::to_string)).collect();
    Ok(Ruling::Within {
        labels: selected,
        text: texts.join(",").into(),
    })
}

fn expression(Expression { key, operator, values }: &Expression) -> Result<(), BadPolicy> {
    label(key, &content::label_key(key)).map_err(|fault| fault.at(".key"))?;
    let values = values.as_deref().unwrap_or_default();
    let fault = match (operator.as_str(), values.is_empty()) {
        ("In" | "NotIn", true) => Some(Fault::Values("is empty; In and NotIn need a value")),
        ("Exists" | "DoesNotExist", false) => {
            Some(Fault::Values("is not empty; Exists and DoesNotExist take no value"))
        }
        ("In" | "NotIn", false) => few(values.len(), MOST_VALUES).err(),
        ("Exists" | "DoesNotExist", true) => None,
        (other, _) => return Err(Fault::Operator(other.into()).at(".operator")),
    };
    if let Some(fault) = fault {
        return Err(fault.at(".values"));
    }
    for (place, value) in values.iter().enumerate() {
        label(value, &content::label_value(value)).map_err(|fault| fault.at(format!(".values[{place}]")))?;
    }
    Ok(())
}

fn label(text: &str, reasons: &[String]) -> Result<(), Fault> {
    reasons.first().map_or(Ok(()), |reason| {
        Err(Fault::Label {
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
    fn what_is_no_policy_is_refused_with_its_place() {
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
    fn a_rule_says_one_thing_and_says_it_right() {
        let expression = |words: &str| format!(r#"{{"metric":"a","selector":{{"matchExpressions":[{words}]}}}}"#);
        let labels = |words: &str| format!(r#"{{"metric":"a","selector":{{"matchLabels":{words}}}}}"#);
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
                r#"rules[1].selector.matchLabels.a/b/c: "a/b/c" is no label"#,
            ),
            (
                labels(r#"{"a":"x y"}"#),
                r#"rules[1].selector.matchLabels.a: "x y" is no label"#,
            ),
            (
                expression(r#"{"key":"-","operator":"Exists"}"#),
                "rules[1].selector.matchExpressions[0].key: \"-\"",
            ),
            (
                expression(r#"{"key":"a","operator":"Is"}"#),
                "rules[1].selector.matchExpressions[0].operator: \"Is\" is no",
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
                "rules[1].selector.matchExpressions[0].values[1]: \"/\" is no label",
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
        fn any_text_is_a_policy_or_none(spec in ".{0,99}") {
            let _ = Policy::parse("p", None, &spec);
        }
    }
}
