//! The objects of a list that are excluded: the invalid ones, and those that exceed a limit.

use super::limits::ByteAccount;
use crate::kube::page::InvalidItem;
use crate::kube::{Object, Resource};
use std::rc::Rc;

/// Excluded objects of one namespace that are known by name. The others are only counted: a namespace may have more of
/// them than fit into memory.
pub const MAX_NAMED: usize = 10;

/// The excluded objects of one list.
#[derive(Debug, Default)]
pub struct ExcludedObjects {
    /// Sorted by name.
    named: Vec<ExcludedObject>,
    unnamed: usize,
    /// The unnamed ones that exceed a limit.
    unnamed_over_limit: usize,
}

#[derive(Debug)]
struct ExcludedObject {
    name: String,
    message: String,
    is_over_limit: bool,
    /// The message is not in the log yet.
    is_unreported: bool,
}

impl ExcludedObjects {
    /// The excluded objects of a checkpoint, by their names and messages.
    #[must_use]
    pub fn restored(all: Vec<(String, String)>) -> Self {
        let mut excluded = Self::default();
        for (name, message) in all {
            excluded.insert(name, message, false);
        }
        excluded.take_unreported();
        excluded
    }

    /// The objects that are known by name, each with a message that says why it is excluded.
    pub fn messages(&self) -> impl Iterator<Item = (&str, &str)> {
        self.named
            .iter()
            .map(|object| (object.name.as_str(), object.message.as_str()))
    }

    /// The number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.named.len() + self.unnamed
    }

    /// Returns whether there is no object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of objects that exceed the limit of their namespace or list.
    #[must_use]
    pub fn over_limit(&self) -> usize {
        self.named.iter().filter(|object| object.is_over_limit).count() + self.unnamed_over_limit
    }

    /// Returns whether a watch would not report all of them. An object over a limit may fit when another one is deleted,
    /// and an unnamed one may become valid.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.unnamed + self.over_limit() > 0
    }

    /// Adds an invalid object.
    pub fn insert_invalid(&mut self, resource: &Resource, InvalidItem { name, reason }: InvalidItem) {
        let message = excluded_message(resource, &name, &reason);
        self.insert(name, message, false);
    }

    /// Adds objects that exceed a limit of `account`.
    pub fn insert_over_limit(&mut self, resource: &Resource, objects: &[Rc<Object>], account: &ByteAccount) {
        for name in objects.iter().map(|object| object.name().to_string()) {
            let message = excluded_message(resource, &name, &account.reason());
            self.insert(name, message, true);
        }
    }

    fn insert(&mut self, name: String, message: String, is_over_limit: bool) {
        let position = self.position(&name);
        if position.is_err() && self.is_namespace_full(&name) {
            self.unnamed += 1;
            self.unnamed_over_limit += usize::from(is_over_limit);
            return;
        }
        let before = self.remove(&name);
        let object = ExcludedObject {
            is_unreported: before.is_none_or(|before| before.is_unreported || before.message != message),
            name,
            message,
            is_over_limit,
        };
        let (Ok(index) | Err(index)) = position;
        self.named.insert(index, object);
    }

    /// Removes an object that was deleted.
    pub fn remove_named(&mut self, name: &str) {
        self.remove(name);
    }

    fn remove(&mut self, name: &str) -> Option<ExcludedObject> {
        self.position(name).ok().map(|index| self.named.remove(index))
    }

    /// Removes the objects that are in the store now.
    pub fn remove_included(&mut self, is_included: impl Fn(&str) -> bool) {
        self.named.retain(|object| !is_included(&object.name));
    }

    /// Marks the messages that `before` has too as reported.
    #[must_use]
    pub fn keeping_reported(mut self, before: &Self) -> Self {
        for object in &mut self.named {
            let known = before.get(&object.name);
            object.is_unreported = known.is_none_or(|known| known.message != object.message);
        }
        self
    }

    /// The messages that are not in the log yet, which they are after this.
    pub fn take_unreported(&mut self) -> Vec<String> {
        let mut messages = Vec::new();
        for object in &mut self.named {
            if std::mem::take(&mut object.is_unreported) {
                messages.push(object.message.clone());
            }
        }
        messages
    }

    fn get(&self, name: &str) -> Option<&ExcludedObject> {
        self.named.get(self.position(name).ok()?)
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.named.binary_search_by(|object| object.name.as_str().cmp(name))
    }

    /// Returns whether no more objects of that namespace are kept by name.
    fn is_namespace_full(&self, name: &str) -> bool {
        let namespace = namespace_prefix(name);
        let first = self.named.partition_point(|object| object.name.as_str() < namespace);
        let last = self.named.get(first + MAX_NAMED - 1);
        last.is_some_and(|object| object.name.starts_with(namespace))
    }
}

/// The namespace of `namespace/name`, with its slash. All objects whose name is not known count as one namespace.
fn namespace_prefix(name: &str) -> &str {
    name.find('/').and_then(|slash| name.get(..=slash)).unwrap_or(name)
}

fn excluded_message(resource: &Resource, name: &str, reason: &str) -> String {
    format!("excluded {} {name}: {reason}", resource.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invalid(name: &str, reason: &str) -> InvalidItem {
        InvalidItem {
            name: name.into(),
            reason: reason.into(),
        }
    }

    #[test]
    fn ten_objects_of_a_namespace_are_named_and_the_others_are_counted() {
        let (services, mut excluded) = (Resource::services(), ExcludedObjects::default());
        for n in (0..10 * MAX_NAMED).rev() {
            excluded.insert_invalid(&services, invalid(&format!("many/{n:03}"), "x"));
        }
        for name in ["many-more/a", "man/a", "an object without a name"] {
            excluded.insert_invalid(&services, invalid(name, "x"));
        }
        let named: Vec<_> = excluded.messages().map(|(name, _)| name).collect();
        assert_eq!(named.len(), MAX_NAMED + 3, "{named:?}");
        assert_eq!((excluded.len(), excluded.over_limit()), (10 * MAX_NAMED + 3, 0));
        assert!(excluded.is_partial());
    }

    #[test]
    fn a_message_is_reported_once_for_each_object_and_reason() {
        let (services, mut excluded) = (Resource::services(), ExcludedObjects::default());
        excluded.insert_invalid(&services, invalid("shop/a", "x"));
        excluded.insert_invalid(&services, invalid("shop/b", "x"));
        assert_eq!(
            excluded.take_unreported(),
            ["excluded Service shop/a: x", "excluded Service shop/b: x"]
        );
        excluded.insert_invalid(&services, invalid("shop/a", "x"));
        excluded.insert_invalid(&services, invalid("shop/b", "y"));
        excluded.insert_invalid(&services, invalid("shop/b", "y"));
        assert_eq!(excluded.take_unreported(), ["excluded Service shop/b: y"]);

        let mut listed = ExcludedObjects::default();
        for (name, reason) in [("shop/a", "x"), ("shop/b", "x"), ("shop/c", "x")] {
            listed.insert_invalid(&services, invalid(name, reason));
        }
        let mut listed = listed.keeping_reported(&excluded);
        listed.remove_named("shop/b");
        assert_eq!(listed.take_unreported(), ["excluded Service shop/c: x"]);
        assert!(!listed.is_partial() && listed.len() == 2);
    }
}
