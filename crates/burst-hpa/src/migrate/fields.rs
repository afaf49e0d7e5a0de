//! The fields of an object during migration. Of duplicate fields the last counts; the decoder refuses the others.

use crate::node::{Key, Node, NodeValue};

#[derive(Default)]
pub(super) struct ObjectFields(pub Vec<(Key, Node)>);

impl ObjectFields {
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key.name == name)
    }

    pub(super) fn last_mut(&mut self, name: &str) -> Option<&mut Node> {
        self.0
            .iter_mut()
            .rev()
            .find(|(key, _)| key.name == name)
            .map(|(_, node)| node)
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Node> {
        let index = self.0.iter().rposition(|(key, _)| key.name == name)?;
        Some(self.0.remove(index).1)
    }

    pub(super) fn set(&mut self, name: &str, node: Node) {
        match self.last_mut(name) {
            Some(existing) => *existing = node,
            None => self.0.push((name.into(), node)),
        }
    }

    /// Renames a field, if it exists.
    pub(super) fn rename(&mut self, from: &str, to: &str) {
        if let Some(node) = self.take(from) {
            self.set(to, node);
        }
    }

    /// Rewrites the object in a field. A missing field is only created if the rewrite adds something.
    pub(super) fn within(&mut self, name: &str, rewrite: impl FnOnce(&mut ObjectFields)) {
        let mut inner = match self.last_mut(name).map(|node| &mut node.value) {
            Some(NodeValue::Object(fields)) => ObjectFields(std::mem::take(fields)),
            Some(NodeValue::Null) | None => ObjectFields::default(),
            Some(_) => return,
        };
        rewrite(&mut inner);
        if self.has(name) || !inner.0.is_empty() {
            self.set(name, NodeValue::Object(inner.0).into());
        }
    }
}
