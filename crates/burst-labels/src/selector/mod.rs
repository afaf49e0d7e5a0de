//! Label selectors as in a `labelSelector` parameter: `app in (web,api),!canary,tier>2`.
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors>

mod error;
mod lex;
mod parse;
mod quote;

pub use error::{Invalid, ParseRequirementError, ParseSelectorError};

use std::fmt;

/// Quotes a text as Go's messages do.
#[must_use]
pub fn quoted(text: &str) -> String {
    quote::Quote(text).to_string()
}

/// Requirements, sorted by key, all of which labels must meet. An empty selector matches all labels.
///
/// ```
/// # use burst_labels::Selector;
/// let selector: Selector = "app in (web, api), !canary".parse()?;
/// assert!(selector.matches(|key| (key == "app").then_some("web")));
/// assert!(!selector.matches(|_| None));
/// # Ok::<_, burst_labels::selector::ParseSelectorError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector(Vec<Requirement>);

/// A requirement for the label of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// A valid label key.
    pub key: Box<str>,
    /// How the value relates to `values`.
    pub operator: Operator,
    /// Valid label values, sorted and without duplicates.
    pub values: Vec<Box<str>>,
}

/// The operator of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `key=value`.
    Equals,
    /// `key==value`, with the same meaning.
    DoubleEquals,
    /// `key!=value`; matches an absent label.
    NotEquals,
    /// `key in (a,b)`.
    In,
    /// `key notin (a,b)`; matches an absent label.
    NotIn,
    /// `key`.
    Exists,
    /// `!key`.
    DoesNotExist,
    /// `key>1`; does not match an absent label.
    GreaterThan,
    /// `key<1`; does not match an absent label.
    LessThan,
}

impl Selector {
    /// Returns the requirements, sorted by key.
    #[must_use]
    pub fn requirements(&self) -> &[Requirement] {
        &self.0
    }

    /// Returns whether there are no requirements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether labels match. `label` looks up a value by its key.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0
            .iter()
            .all(|requirement| requirement.matches(label(&requirement.key)))
    }
}

impl Requirement {
    /// Returns whether a label of this key matches; `None` is an absent label.
    #[must_use]
    pub fn matches(&self, label: Option<&str>) -> bool {
        let is_listed = |value: &str| self.values.binary_search_by(|listed| (**listed).cmp(value)).is_ok();
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => label.is_some_and(is_listed),
            Operator::NotIn | Operator::NotEquals => !label.is_some_and(is_listed),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan => self.compares(label, |label, limit| label > limit),
            Operator::LessThan => self.compares(label, |label, limit| label < limit),
        }
    }

    fn compares(&self, label: Option<&str>, holds: impl Fn(i64, i64) -> bool) -> bool {
        let number = |text: &str| text.parse::<i64>().ok();
        let (label, limit) = (
            label.and_then(number),
            self.values.first().and_then(|limit| number(limit)),
        );
        label.zip(limit).is_some_and(|(label, limit)| holds(label, limit))
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.0.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, values) = (&self.key, self.values.join(","));
        match self.operator {
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::DoubleEquals => write!(f, "{key}=={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Exists => f.write_str(key),
            Operator::DoesNotExist => write!(f, "!{key}"),
        }
    }
}
