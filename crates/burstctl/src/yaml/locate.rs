//! From the path of a field, as the apiserver writes it, to its place.

use super::tree::{Key, Span, Tree, Value};

impl Tree {
    /// Where `spec.metrics[0].type` stands: the value if it is there, else the nearest field around it that is.
    #[must_use]
    pub fn place(&self, path: &str) -> Span {
        self.find(None, path).0
    }

    /// Where the name of the field stands, for a field that should not be there.
    #[must_use]
    pub fn place_of_key(&self, path: &str) -> Span {
        let (span, key) = self.find(None, path);
        key.map_or(span, |key| key.span)
    }

    fn find<'a>(&'a self, key: Option<&'a Key>, path: &str) -> (Span, Option<&'a Key>) {
        if path.is_empty() {
            return (self.shown(key), key);
        }
        let inner = match &self.value {
            Value::Object(fields) => step_into(fields, path).map(|(key, tree, rest)| (Some(key), tree, rest)),
            Value::List(items) => item_of(items, path).map(|(tree, rest)| (None, tree, rest)),
            _ => None,
        };
        match inner {
            Some((key, tree, rest)) => tree.find(key, rest),
            None => (key.map_or_else(|| self.shown(None), |key| key.span), key),
        }
    }

    /// A whole object would be too much to show: its name does.
    fn shown(&self, key: Option<&Key>) -> Span {
        match (&self.value, key) {
            (Value::Object(_) | Value::List(_) | Value::Null, Some(key)) => key.span,
            (Value::Object(fields), None) => fields.first().map_or(self.span, |(key, _)| key.span),
            _ => self.span,
        }
    }
}

/// Names of labels have dots in them, so the longest name that fits is taken; of equal ones the last.
fn step_into<'a, 'p>(fields: &'a [(Key, Tree)], path: &'p str) -> Option<(&'a Key, &'a Tree, &'p str)> {
    let fitting = fields.iter().filter_map(|(key, tree)| {
        let rest = path.strip_prefix(key.name.as_str())?;
        let rest = match rest.strip_prefix('.') {
            Some(rest) => rest,
            None if rest.is_empty() || rest.starts_with('[') => rest,
            None => return None,
        };
        Some((key, tree, rest))
    });
    fitting.max_by_key(|(key, ..)| key.name.len())
}

fn item_of<'a, 'p>(items: &'a [Tree], path: &'p str) -> Option<(&'a Tree, &'p str)> {
    let (index, rest) = path.strip_prefix('[')?.split_once(']')?;
    let tree = items.get(index.parse::<usize>().ok()?)?;
    Some((tree, rest.strip_prefix('.').unwrap_or(rest)))
}

#[cfg(test)]
mod tests {
    use crate::yaml::documents;

    #[test]
    fn a_path_leads_to_its_value_or_as_near_as_there_is_one() {
        let text = "spec:\n  metrics:\n  - type: Pods\n    type: Resource\n  labels: {a.b/c: 1}\n";
        let tree = documents(text).remove(0).content.unwrap();
        let at = |path| {
            let start = tree.place(path).start;
            (start.line, start.column)
        };
        assert_eq!(at("spec.metrics[0].type"), (4, 11));
        assert_eq!(at("spec.metrics[0].resource.name"), (3, 5));
        assert_eq!(at("spec.labels.a.b/c"), (5, 19));
        assert_eq!(at("spec.maxReplicas"), (1, 1));
        assert_eq!(at("metadata.name"), (1, 1));
        assert_eq!(tree.place_of_key("spec.metrics[0].type").start.column, 5);
    }
}
