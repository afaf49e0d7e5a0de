//! The query of a request, as far as a review is about it.

use crate::field_selector::{self as fields, FieldTerm};
use burst_labels::{Selector, content};

/// What the query says of which objects are meant.
pub(super) struct Options {
    pub(super) watch: bool,
    /// `None` where it cannot be read.
    pub(super) fields: Option<Vec<FieldTerm>>,
    /// `None` where it cannot be read.
    pub(super) labels: Option<Selector>,
    /// Whether the numbers in it are some.
    is_sound: bool,
}

impl Options {
    /// Of each key the first counts.
    pub(super) fn of(query: &[u8]) -> Self {
        let first = |name: &str| {
            let mut pairs = form_urlencoded::parse(query);
            pairs.find(|(key, _)| key == name).map(|(_, value)| value)
        };
        let is_number = |name: &str| first(name).is_none_or(|value| value.parse::<i64>().is_ok());
        let is_yes = |value: &str| value != "0" && !value.eq_ignore_ascii_case("false");
        Self {
            watch: first("watch").is_some_and(|value| is_yes(&value)),
            fields: fields::parse(&first("fieldSelector").unwrap_or_default()),
            labels: first("labelSelector").unwrap_or_default().parse().ok(),
            is_sound: is_number("limit") && is_number("timeoutSeconds"),
        }
    }

    /// The one name that is meant. A query in which anything is amiss means none.
    pub(super) fn name(&self) -> Option<&str> {
        let fields = self
            .fields
            .as_ref()
            .filter(|_| self.is_sound && self.labels.is_some())?;
        let term = fields
            .iter()
            .find(|term| term.equals && term.field == "metadata.name")?;
        Some(term.value.as_str()).filter(|name| content::path_segment(name).is_empty())
    }
}
