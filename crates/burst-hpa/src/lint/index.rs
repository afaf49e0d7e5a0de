//! Indexes of labels and selectors. They avoid comparing each object with all others: linting a folder of ten thousand
//! HPAs takes a second.

use std::collections::{BTreeMap, HashMap};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

/// The indexes of objects, by namespace or by namespace, key and value.
type Indices<K> = HashMap<K, Vec<usize>>;
type Label = (String, String, String);

fn label(namespace: &str, (key, value): (&String, &String)) -> Label {
    (namespace.to_owned(), key.clone(), value.clone())
}

/// Objects by their labels, for a search by selector.
#[derive(Clone, Debug, Default)]
pub(super) struct Labels {
    all: Indices<String>,
    labelled: Indices<Label>,
}

impl Labels {
    pub(super) fn insert(&mut self, index: usize, namespace: &str, labels: &BTreeMap<String, String>) {
        self.all.entry(namespace.to_owned()).or_default().push(index);
        for pair in labels {
            self.labelled.entry(label(namespace, pair)).or_default().push(index);
        }
    }

    /// Returns the objects of a namespace, in order of insertion.
    pub(super) fn in_namespace(&self, namespace: &str) -> &[usize] {
        self.all.get(namespace).map_or(&[], Vec::as_slice)
    }

    /// Returns a superset of the objects that the selector matches, in order of insertion: those with its rarest label.
    pub(super) fn candidates(&self, namespace: &str, selector: &LabelSelector) -> &[usize] {
        let labelled = selector.match_labels.iter().flatten();
        labelled
            .map(|pair| self.labelled.get(&label(namespace, pair)))
            .chain([self.all.get(namespace)])
            .map(|indices| indices.map_or(&[][..], Vec::as_slice))
            .min_by_key(|indices| indices.len())
            .unwrap_or_default()
    }
}

/// Selectors, for a search by labels.
#[derive(Clone, Debug, Default)]
pub(super) struct Selectors {
    /// Selectors that require no label.
    any: Indices<String>,
    /// The others, each under one label that it requires.
    by_label: Indices<Label>,
}

impl Selectors {
    pub(super) fn insert(&mut self, index: usize, namespace: &str, selector: &LabelSelector) {
        let labels = selector
            .match_labels
            .iter()
            .flatten()
            .map(|pair| label(namespace, pair));
        // The label with the fewest entries so far keeps the lists short.
        let rarest = labels.min_by_key(|label| self.by_label.get(label).map_or(0, Vec::len));
        match rarest {
            Some(label) => self.by_label.entry(label).or_default().push(index),
            None => self.any.entry(namespace.to_owned()).or_default().push(index),
        }
    }

    /// Returns a superset of the selectors that match the labels, in order of insertion.
    pub(super) fn candidates(&self, namespace: &str, labels: &BTreeMap<String, String>) -> Vec<usize> {
        let named = labels
            .iter()
            .filter_map(|pair| self.by_label.get(&label(namespace, pair)));
        let mut indices: Vec<usize> = named.chain(self.any.get(namespace)).flatten().copied().collect();
        indices.sort_unstable();
        indices
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::selector::matches;

    fn labels() -> impl Strategy<Value = BTreeMap<String, String>> {
        prop::collection::btree_map("[ab]", "[xy]", 0..3)
    }

    proptest! {
        #[test]
        fn the_index_returns_every_match(
            objects in prop::collection::vec(("[mn]", labels()), 0..8),
            namespace in "[mn]",
            names in labels(),
        ) {
            let selector_of = |labels: &BTreeMap<String, String>| LabelSelector {
                match_labels: Some(labels.clone()),
                match_expressions: None,
            };
            let (mut by_labels, mut by_selectors) = (Labels::default(), Selectors::default());
            for (index, (namespace, labels)) in objects.iter().enumerate() {
                by_labels.insert(index, namespace, labels);
                by_selectors.insert(index, namespace, &selector_of(labels));
            }
            let selector = selector_of(&names);
            let mut found = by_labels.candidates(&namespace, &selector).to_vec();
            found.retain(|index| matches(&selector, &objects[*index].1));
            let in_namespace = objects.iter().enumerate().filter(|(_, (labels, _))| *labels == namespace);
            let selected = in_namespace.clone().filter(|(_, (_, labels))| matches(&selector, labels));
            prop_assert_eq!(found, selected.map(|(index, _)| index).collect::<Vec<_>>());

            let mut found = by_selectors.candidates(&namespace, &names);
            found.retain(|index| matches(&selector_of(&objects[*index].1), &names));
            let selecting = in_namespace.filter(|(_, (_, labels))| matches(&selector_of(labels), &names));
            prop_assert_eq!(found, selecting.map(|(index, _)| index).collect::<Vec<_>>());
        }
    }
}
