//! Finds where the field of an error is written.

use crate::node::{Key, Node, NodeValue, Span};

impl Node {
    /// Returns the span of a field's value, for a path such as `spec.metrics[0].type`. If the field is missing,
    /// returns the span of its nearest parent that exists.
    #[must_use]
    pub fn value_span(&self, path: &str) -> Span {
        self.find(None, path).0
    }

    /// Returns the span of a field's name, for a field that should not exist.
    #[must_use]
    pub fn key_span(&self, path: &str) -> Span {
        let (span, key) = self.find(None, path);
        key.map_or(span, Key::span)
    }

    /// Returns the value of a field, or `None` if the field is missing.
    #[must_use]
    pub fn at(&self, path: &str) -> Option<&Self> {
        if path.is_empty() {
            return Some(self);
        }
        let (node, rest) = match &self.value {
            NodeValue::Object(fields) => step_into(fields, path).map(|(_, node, rest)| (node, rest)),
            NodeValue::List(items) => item_of(items, path),
            _ => None,
        }?;
        node.at(rest)
    }

    fn find<'a>(&'a self, key: Option<&'a Key>, path: &str) -> (Span, Option<&'a Key>) {
        if path.is_empty() {
            return (self.shown(key), key);
        }
        let inner = match &self.value {
            NodeValue::Object(fields) => step_into(fields, path).map(|(key, tree, rest)| (Some(key), tree, rest)),
            NodeValue::List(items) => item_of(items, path).map(|(tree, rest)| (None, tree, rest)),
            _ => None,
        };
        match inner {
            Some((key, tree, rest)) => tree.find(key, rest),
            None => (key.map_or_else(|| self.shown(None), Key::span), key),
        }
    }

    /// For an object or a list this is the span of its name, because the whole value is too long to show.
    fn shown(&self, key: Option<&Key>) -> Span {
        match (&self.value, key) {
            (NodeValue::Object(_) | NodeValue::List(_) | NodeValue::Null, Some(key)) => key.span(),
            (NodeValue::Object(fields), None) => fields.first().map_or(self.span(), |(key, _)| key.span()),
            _ => self.span(),
        }
    }
}

/// Label keys contain dots, so the longest matching name wins; of duplicates the last.
fn step_into<'a, 'p>(fields: &'a [(Key, Node)], path: &'p str) -> Option<(&'a Key, &'a Node, &'p str)> {
    let fitting = fields.iter().filter_map(|(key, tree)| {
        let after_name = path.strip_prefix(key.name.as_str())?;
        let rest = match after_name.strip_prefix('.') {
            Some(rest) => rest,
            None if after_name.is_empty() || after_name.starts_with('[') => after_name,
            None => return None,
        };
        Some((key, tree, rest))
    });
    fitting.max_by_key(|(key, ..)| key.name.len())
}

fn item_of<'a, 'p>(items: &'a [Node], path: &'p str) -> Option<(&'a Node, &'p str)> {
    let (index, rest) = path.strip_prefix('[')?.split_once(']')?;
    let tree = items.get(index.parse::<usize>().ok()?)?;
    Some((tree, rest.strip_prefix('.').unwrap_or(rest)))
}
