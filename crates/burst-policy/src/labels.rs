//! Label selectors as sets, and an exact check whether one selects a subset of another, key by key.
//!
//! The value of a label is text, and a number has many spellings: `tier>1,tier<3` selects `02` as well, so it is not the same as
//! `tier in (2)`. A selector that contradicts itself selects the empty set, which is a subset of every set.

mod values;

pub use values::ValueSet;

use crate::raw::{LabelSelector, LabelSelectorRequirement};
use burst_labels::Selector;
use burst_labels::selector::Operator;
use std::collections::BTreeMap;

/// The constraints of a selector: the allowed values for each key that it names. All other keys may have any value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelConstraints(BTreeMap<Box<str>, ValueSet>);

impl LabelConstraints {
    /// Returns the constraints of the selector of a request.
    #[must_use]
    pub fn from_query(selector: &Selector) -> Self {
        let mut labels = Self::default();
        for requirement in selector.requirements() {
            let values = requirement.values.iter().cloned();
            let number = || requirement.values.first().and_then(|limit| limit.parse().ok());
            labels.narrow(
                &requirement.key,
                match requirement.operator {
                    Operator::Equals | Operator::DoubleEquals | Operator::In => ValueSet::one_of(values),
                    Operator::NotEquals | Operator::NotIn => ValueSet::none_of(values),
                    Operator::Exists => ValueSet::present(),
                    Operator::DoesNotExist => ValueSet::absent(),
                    Operator::GreaterThan => number().map_or_else(ValueSet::nothing, ValueSet::above),
                    Operator::LessThan => number().map_or_else(ValueSet::nothing, ValueSet::below),
                },
            );
        }
        labels
    }

    /// Returns the constraints of a selector of an object.
    ///
    /// # Errors
    /// An operator that is unknown.
    pub fn from_label_selector(selector: &LabelSelector) -> Result<Self, &str> {
        let mut labels = Self::default();
        for (key, value) in selector.match_labels.iter().flatten() {
            labels.narrow(key, ValueSet::one_of([value.as_str().into()]));
        }
        for LabelSelectorRequirement { key, operator, values } in selector.match_expressions.iter().flatten() {
            let listed = values.iter().flatten().map(|value| value.as_str().into());
            let values = match operator.as_str() {
                "In" => ValueSet::one_of(listed),
                "NotIn" => ValueSet::none_of(listed),
                "Exists" => ValueSet::present(),
                "DoesNotExist" => ValueSet::absent(),
                other => return Err(other),
            };
            labels.narrow(key, values);
        }
        Ok(labels)
    }

    fn narrow(&mut self, key: &str, values: ValueSet) {
        match self.0.get_mut(key) {
            Some(all) => *all = std::mem::take(all).and(values),
            None => drop(self.0.insert(key.into(), values)),
        }
    }

    fn values(&self, key: &str) -> Option<&ValueSet> {
        self.0.get(key)
    }

    /// Iterates over the keys with their allowed values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ValueSet)> {
        self.0.iter().map(|(key, values)| (&**key, values))
    }

    /// Returns the number of keys and values that the selector names.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.values().map(|values| 1 + values.count()).sum()
    }

    /// Returns a key whose requirements contradict each other, in which case nothing is selected.
    #[must_use]
    pub fn contradiction(&self) -> Option<&str> {
        self.iter().find(|(_, values)| values.is_nothing()).map(|(key, _)| key)
    }

    /// Returns whether everything selected here is also selected by `wider`.
    #[must_use]
    pub fn is_subset_of(&self, wider: &Self) -> bool {
        let anything = ValueSet::default();
        let is_subset = |(key, values): (&str, &ValueSet)| self.values(key).unwrap_or(&anything).is_subset_of(values);
        self.contradiction().is_some() || wider.iter().all(is_subset)
    }
}

#[cfg(test)]
mod tests;
