//! What selectors select, as sets of labels, and whether one set lies within another: decided exactly, key by key.
//!
//! A label's value is any text, and of numbers there are many spellings of each: `tier in (2)` is not all that
//! `tier>1,tier<3` selects, which selects `02` as well. A selector that contradicts itself selects nothing, and nothing
//! lies within everything.

mod values;

pub use values::ValueSet;

use crate::raw::{LabelSelector, LabelSelectorRequirement};
use burst_labels::Selector;
use burst_labels::selector::Operator;
use std::collections::BTreeMap;

/// What a selector selects: for each key that it names, the values that its label may have. Other keys may have any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelConstraints(BTreeMap<Box<str>, ValueSet>);

impl LabelConstraints {
    /// What a query selects.
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

    /// What a selector of an object selects; the operator that is none where one is not.
    ///
    /// # Errors
    /// That operator.
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

    fn of(&self, key: &str) -> Option<&ValueSet> {
        self.0.get(key)
    }

    /// By key, what is asked of each.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ValueSet)> {
        self.0.iter().map(|(key, values)| (&**key, values))
    }

    /// Keys and values that are listed.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.values().map(|values| 1 + values.count()).sum()
    }

    /// A key whose requirements contradict each other; then nothing is selected.
    #[must_use]
    pub fn contradiction(&self) -> Option<&str> {
        self.iter().find(|(_, values)| values.is_nothing()).map(|(key, _)| key)
    }

    /// Whether whatever is selected here is selected there too.
    #[must_use]
    pub fn is_subset_of(&self, wider: &Self) -> bool {
        let anything = ValueSet::default();
        let lies_within = |(key, values): (&str, &ValueSet)| self.of(key).unwrap_or(&anything).is_subset_of(values);
        self.contradiction().is_some() || wider.iter().all(lies_within)
    }
}

#[cfg(test)]
mod tests;
