//! The objects of a list that are left out: those that cannot be read, and those over a limit.

use super::limits::ByteAccount;
use crate::kube::page::InvalidItem;
use crate::kube::{Object, Resource};
use std::rc::Rc;

/// How many of a namespace are known by name. The others are counted: a namespace may have more of them than memory.
pub const MAX_NAMED: usize = 10;

/// The objects of a list that are left out.
#[derive(Debug, Default)]
pub struct ExcludedObjects {
    /// Sorted by their names.
    named: Vec<ExcludedObject>,
    unnamed: usize,
    /// How many of the unnamed are over a limit.
    unnamed_over_limit: usize,
}

#[derive(Debug)]
struct ExcludedObject {
    name: String,
    message: String,
    is_over_limit: bool,
    /// The operator was not told yet.
    is_unreported: bool,
}

impl ExcludedObjects {
    /// What somebody else left out, by the names and the lines that say why.
    #[must_use]
    pub fn restored(all: Vec<(String, String)>) -> Self {
        let mut left_out = Self::default();
        for (name, line) in all {
            left_out.insert(name, line, false);
        }
        left_out.take_unreported();
        left_out
    }

    /// The names of those that have one, with the line that says why.
    pub fn messages(&self) -> impl Iterator<Item = (&str, &str)> {
        self.named
            .iter()
            .map(|object| (object.name.as_str(), object.message.as_str()))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.named.len() + self.unnamed
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many are over a limit of their namespace, or of their list.
    #[must_use]
    pub fn over_limit(&self) -> usize {
        self.named.iter().filter(|object| object.is_over_limit).count() + self.unnamed_over_limit
    }

    /// Whether what a watch brings does not tell of all of them: one over a limit may have room again when another one is
    /// gone, and one without a name may be well again.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.unnamed + self.over_limit() > 0
    }

    /// Puts an object in that cannot be read.
    pub fn insert_invalid(&mut self, resource: &Resource, InvalidItem { name, reason }: InvalidItem) {
        let line = excluded_message(resource, &name, &reason);
        self.insert(name, line, false);
    }

    /// Puts objects in that are over a limit.
    pub fn insert_over_limit(&mut self, resource: &Resource, objects: &[Rc<Object>], account: &ByteAccount) {
        for name in objects.iter().map(|object| object.name().to_string()) {
            let line = excluded_message(resource, &name, &account.reason());
            self.insert(name, line, true);
        }
    }

    fn insert(&mut self, name: String, line: String, is_over: bool) {
        let place = self.find(&name);
        if place.is_err() && self.is_namespace_full(&name) {
            self.unnamed += 1;
            self.unnamed_over_limit += usize::from(is_over);
            return;
        }
        let known = self.remove(&name);
        let object = ExcludedObject {
            is_unreported: known.is_none_or(|known| known.is_unreported || known.message != line),
            name,
            message: line,
            is_over_limit: is_over,
        };
        let (Ok(place) | Err(place)) = place;
        self.named.insert(place, object);
    }

    /// Takes an object out that is not left out any more.
    pub fn remove_named(&mut self, name: &str) {
        self.remove(name);
    }

    fn remove(&mut self, name: &str) -> Option<ExcludedObject> {
        self.find(name).ok().map(|place| self.named.remove(place))
    }

    /// Takes those out that are kept.
    pub fn remove_included(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.named.retain(|object| !is_kept(&object.name));
    }

    /// What was told of others is no news of the same here.
    pub fn keeping_reported(mut self, before: &Self) -> Self {
        for object in &mut self.named {
            let known = before.find(&object.name).ok().and_then(|place| before.named.get(place));
            object.is_unreported = known.is_none_or(|known| known.message != object.message);
        }
        self
    }

    /// The lines about those that are left out anew, or for another reason than before.
    pub fn take_unreported(&mut self) -> Vec<String> {
        let news =
            |object: &mut ExcludedObject| std::mem::take(&mut object.is_unreported).then(|| object.message.clone());
        self.named.iter_mut().filter_map(news).collect()
    }

    fn find(&self, name: &str) -> Result<usize, usize> {
        self.named.binary_search_by(|object| object.name.as_str().cmp(name))
    }

    /// Whether as many are known of the namespace as may be.
    fn is_namespace_full(&self, name: &str) -> bool {
        let namespace = namespace(name);
        let first = self.named.partition_point(|object| object.name.as_str() < namespace);
        let last = self.named.get(first + MAX_NAMED - 1);
        last.is_some_and(|object| object.name.starts_with(namespace))
    }
}

/// With its slash. A name without one is that of all objects whose name cannot be told.
fn namespace(name: &str) -> &str {
    name.find('/').and_then(|slash| name.get(..=slash)).unwrap_or(name)
}

fn excluded_message(resource: &Resource, name: &str, reason: &str) -> String {
    format!("left out {} {name}: {reason}", resource.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bad(name: &str, reason: &str) -> InvalidItem {
        InvalidItem {
            name: name.into(),
            reason: reason.into(),
        }
    }

    #[test]
    fn ten_of_a_namespace_are_named_and_the_others_counted() {
        let (services, mut left_out) = (Resource::services(), ExcludedObjects::default());
        for n in (0..10 * MAX_NAMED).rev() {
            left_out.insert_invalid(&services, bad(&format!("many/{n:03}"), "x"));
        }
        for name in ["many-more/a", "man/a", "an object without a name"] {
            left_out.insert_invalid(&services, bad(name, "x"));
        }
        let named: Vec<_> = left_out.messages().map(|(name, _)| name).collect();
        assert_eq!(named.len(), MAX_NAMED + 3, "{named:?}");
        assert_eq!((left_out.len(), left_out.over_limit()), (10 * MAX_NAMED + 3, 0));
        assert!(left_out.is_partial());
    }

    #[test]
    fn news_are_what_is_left_out_anew_or_for_another_reason() {
        let (services, mut left_out) = (Resource::services(), ExcludedObjects::default());
        left_out.insert_invalid(&services, bad("shop/a", "x"));
        left_out.insert_invalid(&services, bad("shop/b", "x"));
        assert_eq!(
            left_out.take_unreported(),
            ["left out Service shop/a: x", "left out Service shop/b: x"]
        );
        left_out.insert_invalid(&services, bad("shop/a", "x"));
        left_out.insert_invalid(&services, bad("shop/b", "y"));
        left_out.insert_invalid(&services, bad("shop/b", "y"));
        assert_eq!(left_out.take_unreported(), ["left out Service shop/b: y"]);

        let mut listed = ExcludedObjects::default();
        for (name, reason) in [("shop/a", "x"), ("shop/b", "x"), ("shop/c", "x")] {
            listed.insert_invalid(&services, bad(name, reason));
        }
        let mut listed = listed.keeping_reported(&left_out);
        listed.remove_named("shop/b");
        assert_eq!(listed.take_unreported(), ["left out Service shop/c: x"]);
        assert!(!listed.is_partial() && listed.len() == 2);
    }
}
