//! Label selectors as a query carries them: `app in (web,api),!canary,tier>2`.
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors>

mod error;
mod lex;
mod parse;
mod quote;

pub use error::{Invalid, ParseRequirementError, ParseSelectorError};

use std::fmt;

/// A text as Go quotes it in its messages.
#[must_use]
pub fn quoted(text: &str) -> String {
    quote::Quote(text).to_string()
}

/// Requirements that labels meet all of, sorted by key. An empty one is met by any labels.
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

/// A key, and what is wanted of its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// A valid label key.
    pub key: Box<str>,
    /// How the value relates to `values`.
    pub operator: Operator,
    /// Valid label values, sorted, each once.
    pub values: Vec<Box<str>>,
}

/// What is wanted of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `key=value`.
    Equals,
    /// `key==value`, which is the same.
    DoubleEquals,
    /// `key!=value`; an absent label will do.
    NotEquals,
    /// `key in (a,b)`.
    In,
    /// `key notin (a,b)`; an absent label will do.
    NotIn,
    /// `key`.
    Exists,
    /// `!key`.
    DoesNotExist,
    /// `key>1`; an absent label will not do.
    GreaterThan,
    /// `key<1`; an absent label will not do.
    LessThan,
}

impl Selector {
    /// The requirements, sorted by key.
    #[must_use]
    pub fn requirements(&self) -> &[Requirement] {
        &self.0
    }

    /// Whether it asks for nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether labels meet it, which are looked up by their keys.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0
            .iter()
            .all(|requirement| requirement.matches(label(&requirement.key)))
    }
}

impl Requirement {
    /// Whether the label of this key will do; `None` where there is none.
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
        for (place, requirement) in self.0.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
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
