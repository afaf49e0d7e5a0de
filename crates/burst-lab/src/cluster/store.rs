//! The objects of one resource and the changes that led to them, so that a list can be read at an earlier resource version
//! and a watch can be resumed from one.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use super::resource::Resource;

/// A real API server drops events after five minutes; here their number is limited.
const KEPT_EVENTS: usize = 10_000;

/// One change, as a watch from an earlier version reports it.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The resource version of the change.
    pub version: u64,
    /// `namespace/name`.
    pub key: String,
    /// The object before the change; `None` if it was created.
    pub before: Option<Arc<Value>>,
    /// The object after the change; `None` if it was deleted.
    pub after: Option<Arc<Value>>,
}

/// The requested resource version was compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("resource version {asked} is gone, the oldest kept is {oldest}")]
pub struct Compacted {
    /// The requested version.
    pub asked: u64,
    /// The oldest version that can be read.
    pub oldest: u64,
}

/// Objects by `namespace/name`, in byte order of the keys, as etcd lists them.
pub(super) type Objects = BTreeMap<String, Arc<Value>>;

pub(super) struct ResourceStore {
    pub(super) resource: Resource,
    objects: Objects,
    events: VecDeque<Event>,
    oldest: u64,
}

impl ResourceStore {
    pub(super) fn new(resource: Resource) -> Self {
        ResourceStore {
            resource,
            objects: Objects::new(),
            events: VecDeque::new(),
            oldest: 0,
        }
    }

    pub(super) fn object(&self, key: &str) -> Option<&Arc<Value>> {
        self.objects.get(key)
    }

    pub(super) fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Sets or deletes the object at `key` and records the change.
    pub(super) fn change(&mut self, version: u64, key: &str, after: Option<Arc<Value>>) {
        let before = match &after {
            Some(object) => self.objects.insert(key.to_owned(), Arc::clone(object)),
            None => self.objects.remove(key),
        };
        self.events.push_back(Event {
            version,
            key: key.to_owned(),
            before,
            after,
        });
        if self.events.len() > KEPT_EVENTS {
            self.oldest = self.events.pop_front().map_or(self.oldest, |event| event.version);
        }
    }

    pub(super) fn compact(&mut self, version: u64) {
        self.events.retain(|event| event.version > version);
        self.oldest = version;
    }

    /// Returns the objects as of `version`.
    pub(super) fn objects_at(&self, version: u64) -> Result<Objects, Compacted> {
        self.check_is_kept(version)?;
        let mut objects = self.objects.clone();
        for event in self.events.iter().rev().take_while(|event| event.version > version) {
            match &event.before {
                Some(object) => objects.insert(event.key.clone(), Arc::clone(object)),
                None => objects.remove(&event.key),
            };
        }
        Ok(objects)
    }

    pub(super) fn events_since(&self, version: u64) -> Result<Vec<Event>, Compacted> {
        self.check_is_kept(version)?;
        Ok(self
            .events
            .iter()
            .filter(|event| event.version > version)
            .cloned()
            .collect())
    }

    fn check_is_kept(&self, version: u64) -> Result<(), Compacted> {
        if version < self.oldest {
            Err(Compacted {
                asked: version,
                oldest: self.oldest,
            })
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn services() -> ResourceStore {
        ResourceStore::new(Resource::built_in("", "v1", "services", "Service"))
    }

    fn object(n: usize) -> Option<Arc<Value>> {
        Some(Arc::new(json!({ "n": n })))
    }

    #[test]
    fn an_earlier_version_is_read_as_it_was() {
        let mut store = services();
        store.change(1, "a/x", object(1));
        store.change(2, "a/y", object(2));
        store.change(3, "a/x", object(3));
        store.change(4, "a/y", None);
        let then = store.objects_at(2).unwrap();
        assert_eq!(then.keys().collect::<Vec<_>>(), ["a/x", "a/y"]);
        assert_eq!(then["a/x"]["n"], 1);
        assert_eq!(store.objects_at(4).unwrap().len(), 1);
        assert!(store.objects_at(0).unwrap().is_empty());
    }

    #[test]
    fn changes_since_a_version_come_in_order() {
        let mut store = services();
        store.change(1, "a/x", object(1));
        store.change(5, "a/x", None);
        let since = store.events_since(1).unwrap();
        assert_eq!(
            since
                .iter()
                .map(|event| (event.version, event.after.is_some()))
                .collect::<Vec<_>>(),
            [(5, false)]
        );
    }

    #[test]
    fn a_compacted_version_cannot_be_read() {
        let mut store = services();
        store.change(1, "a/x", object(1));
        store.change(2, "a/x", object(2));
        store.compact(2);
        assert_eq!(store.objects_at(1), Err(Compacted { asked: 1, oldest: 2 }));
        assert_eq!(store.objects_at(2).unwrap()["a/x"]["n"], 2);
    }

    #[test]
    fn the_number_of_kept_changes_is_bounded() {
        let mut store = services();
        for n in 1..=KEPT_EVENTS + 5 {
            store.change(n as u64, "a/x", object(n));
        }
        assert!(store.objects_at(4).is_err());
        assert_eq!(store.objects_at(5).unwrap()["a/x"]["n"], 5);
    }
}
