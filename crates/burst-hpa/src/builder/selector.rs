//! Label selectors for the series of a metric.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

/// A label selector. A series must meet all requirements.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Selector(pub(super) LabelSelector);

impl Selector {
    /// Creates a selector that matches every series.
    pub fn new() -> Self {
        Self::default()
    }

    /// Requires that the label has this value.
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.0
            .match_labels
            .get_or_insert_with(BTreeMap::new)
            .insert(key.into(), value.into());
        self
    }

    /// Requires that the label has one of these values.
    pub fn is_in<V: Into<String>>(self, key: impl Into<String>, values: impl IntoIterator<Item = V>) -> Self {
        self.expression(key, "In", Some(values.into_iter().map(Into::into).collect()))
    }

    /// Requires that the label has none of these values, or does not exist.
    pub fn is_not_in<V: Into<String>>(self, key: impl Into<String>, values: impl IntoIterator<Item = V>) -> Self {
        self.expression(key, "NotIn", Some(values.into_iter().map(Into::into).collect()))
    }

    /// Requires that the label exists.
    pub fn exists(self, key: impl Into<String>) -> Self {
        self.expression(key, "Exists", None)
    }

    /// Requires that the label does not exist.
    pub fn does_not_exist(self, key: impl Into<String>) -> Self {
        self.expression(key, "DoesNotExist", None)
    }

    fn expression(mut self, key: impl Into<String>, operator: &str, values: Option<Vec<String>>) -> Self {
        let requirement = LabelSelectorRequirement {
            key: key.into(),
            operator: operator.to_owned(),
            values,
        };
        self.0.match_expressions.get_or_insert_default().push(requirement);
        self
    }
}
