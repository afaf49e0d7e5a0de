//! The objects of one list, kept up to date, and the names of objects that are not kept.

use crate::index::Delta;
use crate::kube::{Change, Object, Resource};
use crate::name::ObjectName;
use crate::order::sort_by;
use crate::records::CheckpointedList;
use crate::sync::excluded::ExcludedObjects;
use crate::sync::limits::ByteAccount;
use crate::sync::reflector::ListedObjects;
use crate::time::Time;
use std::rc::Rc;
use std::time::Duration;

/// How often a watched list is listed again while objects are excluded that no watch would bring again.
const PARTIAL_RELIST_INTERVAL: Duration = Duration::from_secs(300);

/// The objects of one list.
#[derive(Debug, Default)]
pub(super) struct Store {
    /// Sorted by name.
    pub(super) objects: Vec<Rc<Object>>,
    /// The memory that they take.
    account: ByteAccount,
    /// The objects that are invalid, or exceed a limit.
    pub(super) excluded: ExcludedObjects,
    /// The names of objects whose last change was not parsed. The object is as it was before.
    retained: Vec<String>,
    /// When the list, or its changes, were last read; `None` if nothing is known of it.
    pub(super) read_at: Option<Time>,
    /// When the list was last read in full.
    listed_at: Option<Time>,
    /// The list is to be read in full: a watch does not bring again what was not parsed, or exceeded a limit.
    pub(super) is_relist_due: bool,
}

impl Store {
    /// The objects of a checkpoint, last read at `read_at`.
    pub(super) fn restored(checkpointed: CheckpointedList, read_at: Option<Time>) -> Self {
        let mut store = Self {
            objects: checkpointed.objects,
            excluded: ExcludedObjects::restored(checkpointed.excluded),
            read_at,
            ..Self::default()
        };
        store.sort();
        for object in &store.objects {
            store.account.add(object);
        }
        store
    }

    /// Drops everything that was read.
    pub(super) fn clear(&mut self) -> Vec<Delta> {
        self.excluded = ExcludedObjects::default();
        self.account = ByteAccount::default();
        self.retained.clear();
        self.read_at = None;
        let before = std::mem::take(&mut self.objects);
        self.deltas_from(before)
    }

    /// Drops some objects of a store that is not used any more.
    pub(super) fn release(&mut self, max_objects: usize) {
        self.objects.truncate(self.objects.len().saturating_sub(max_objects));
    }

    /// The memory that the objects take.
    pub(super) fn bytes(&self) -> usize {
        self.account.bytes()
    }

    /// Returns whether an object is older than its last change.
    pub(super) fn retains_any(&self) -> bool {
        !self.retained.is_empty()
    }

    /// Requests a full read if objects were not parsed: the set of objects that may be parsed has changed.
    pub(super) fn requeue_skipped(&mut self) {
        self.is_relist_due |= self.retains_any() || !self.excluded.is_empty();
    }

    /// Requests a full read from time to time while a watch would not report all excluded objects.
    pub(super) fn request_relist_if_partial(&mut self, now: Time) {
        let is_old = self
            .listed_at
            .is_none_or(|listed_at| now < listed_at || now.since(listed_at) >= PARTIAL_RELIST_INTERVAL);
        self.is_relist_due |= self.excluded.is_partial() && is_old;
    }

    /// Replaces all objects, as far as `max_bytes` allow. Returns what changed, and a message for each object that is now
    /// excluded or retained and was not before.
    pub(super) fn replace(
        &mut self,
        resource: &Resource,
        listed: ListedObjects,
        max_bytes: usize,
        now: Time,
    ) -> (Vec<Delta>, Vec<String>) {
        self.listed_at = Some(now);
        let mut listed = listed;
        for object in &mut listed.objects {
            self.set_since(object, now);
        }
        let names = listed.retained.iter();
        let retained: Vec<_> = names.filter_map(|name| self.find_by_name(name)).collect();
        let before = std::mem::replace(&mut self.objects, listed.objects);
        self.excluded = listed.excluded.keeping_reported(&self.excluded);
        self.account = listed.account;
        for object in &retained {
            self.account.add(object);
        }
        self.objects.extend(retained);
        self.account.force_check();
        self.sort();
        self.evict_over_limit(resource, max_bytes);
        let mut messages = self.excluded.take_unreported();
        let newly_retained = listed.retained.iter().filter(|name| !self.retained.contains(name));
        messages.extend(newly_retained.map(|name| retained_message(resource, name)));
        self.retained = listed.retained;
        (self.deltas_from(before), messages)
    }

    /// Applies the changes of a watch, as far as `max_bytes` allow. Returns what [`Self::replace`] returns.
    pub(super) fn apply(
        &mut self,
        resource: &Resource,
        changes: Vec<Change>,
        max_bytes: usize,
        now: Time,
    ) -> (Vec<Delta>, Vec<String>) {
        let (mut deltas, mut messages) = (Vec::new(), Vec::new());
        for change in changes {
            match change {
                Change::Apply(object) => {
                    self.forget_retained(&object.name().to_string());
                    deltas.extend(self.put(object, now));
                }
                Change::Delete(name) => {
                    self.excluded.remove_named(&name.to_string());
                    self.forget_retained(&name.to_string());
                    deltas.extend(self.remove(&name));
                }
                Change::Retained(name) if self.retained.contains(&name) => {}
                Change::Retained(name) => {
                    messages.push(retained_message(resource, &name));
                    self.retained.push(name);
                }
                Change::Invalid(item) => {
                    self.forget_retained(&item.name);
                    // An object whose name is invalid was never stored.
                    let name = ObjectName::parse(&item.name).ok();
                    deltas.extend(name.and_then(|name| self.remove(&name)));
                    self.excluded.insert_invalid(resource, item);
                }
            }
        }
        let evicted = self.evict_over_limit(resource, max_bytes);
        deltas.extend(evicted.into_iter().map(|object| Delta::new(Some(object), None)));
        let objects = &self.objects;
        self.excluded
            .remove_included(|name| ObjectName::parse(name).is_ok_and(|name| position(objects, &name).is_ok()));
        messages.extend(self.excluded.take_unreported());
        (deltas, messages)
    }

    fn sort(&mut self) {
        sort_by(&mut self.objects, |a, b| a.name().cmp(b.name()));
        // A list that changes between two pages may have an object twice. The later one counts.
        self.objects.dedup_by(|later, kept| {
            let is_same = later.name() == kept.name();
            if is_same {
                std::mem::swap(later, kept);
            }
            is_same
        });
    }

    fn forget_retained(&mut self, name: &str) {
        self.retained.retain(|retained| retained != name);
    }

    fn find_by_name(&self, name: &str) -> Option<Rc<Object>> {
        let index = self.position(&ObjectName::parse(name).ok()?).ok()?;
        self.objects.get(index).cloned()
    }

    /// Excludes the objects that exceed a limit, and returns them.
    fn evict_over_limit(&mut self, resource: &Resource, max_bytes: usize) -> Vec<Rc<Object>> {
        let evicted = self.account.evict_over_limit(&mut self.objects, max_bytes);
        self.excluded.insert_over_limit(resource, &evicted, &self.account);
        evicted
    }

    /// The changes since the objects were `before`. Both are sorted by name.
    fn deltas_from(&mut self, before: Vec<Rc<Object>>) -> Vec<Delta> {
        let mut before = before.into_iter().peekable();
        let mut deltas = Vec::new();
        for object in &mut self.objects {
            while let Some(deleted) = before.next_if(|old| old.name() < object.name()) {
                deltas.push(Delta::new(Some(deleted), None));
            }
            match before.next_if(|old| old.name() == object.name()) {
                // The join holds the old one already, so keep that.
                Some(old) if old == *object => *object = old,
                old => deltas.push(Delta::new(old, Some(object.clone()))),
            }
        }
        deltas.extend(before.map(|deleted| Delta::new(Some(deleted), None)));
        deltas
    }

    /// Notes since when an EndpointSlice has each address for its pod.
    fn set_since(&self, object: &mut Rc<Object>, now: Time) {
        if !matches!(**object, Object::EndpointSlice(_)) {
            return;
        }
        let before = self
            .position(object.name())
            .ok()
            .and_then(|index| self.objects.get(index));
        let before = before.and_then(|before| match &**before {
            Object::EndpointSlice(slice) => Some(slice),
            _ => None,
        });
        if let Object::EndpointSlice(slice) = Rc::make_mut(object) {
            slice.set_since(before, now.unix_millis());
        }
    }

    /// Corrects the times of EndpointSlices after the clock was set back to `now`: an address that is known since a time in
    /// the future is known since `now`. Returns what changed.
    pub(super) fn set_endpoints_back(&mut self, now: Time) -> Vec<Delta> {
        let mut deltas = Vec::new();
        for object in &mut self.objects {
            let Object::EndpointSlice(slice) = &**object else {
                continue;
            };
            let now = now.unix_millis();
            if slice.endpoints.iter().all(|endpoint| endpoint.since <= now) {
                continue;
            }
            let mut slice = slice.clone();
            for endpoint in &mut slice.endpoints {
                endpoint.since = endpoint.since.min(now);
            }
            let after = Rc::new(Object::EndpointSlice(slice));
            let before = std::mem::replace(object, after.clone());
            deltas.push(Delta::new(Some(before), Some(after)));
        }
        deltas
    }

    fn put(&mut self, object: Object, now: Time) -> Option<Delta> {
        let position = self.position(object.name());
        let mut object = Rc::new(object);
        self.set_since(&mut object, now);
        let before = match position {
            Ok(index) => {
                let stored = self.objects.get_mut(index).filter(|stored| **stored != object)?;
                self.account.remove(stored);
                Some(std::mem::replace(stored, object.clone()))
            }
            Err(index) => {
                self.objects.insert(index, object.clone());
                None
            }
        };
        self.account.add(&object);
        Some(Delta::new(before, Some(object)))
    }

    fn remove(&mut self, name: &ObjectName) -> Option<Delta> {
        let deleted = self.objects.remove(self.position(name).ok()?);
        self.account.remove(&deleted);
        Some(Delta::new(Some(deleted), None))
    }

    fn position(&self, name: &ObjectName) -> Result<usize, usize> {
        position(&self.objects, name)
    }
}

/// The index of an object, or the index at which it would be inserted.
fn position(objects: &[Rc<Object>], name: &ObjectName) -> Result<usize, usize> {
    objects.binary_search_by(|object| object.name().cmp(name))
}

fn retained_message(resource: &Resource, name: &str) -> String {
    let kind = &resource.kind;
    format!("keeping the last version of {kind} {name}: a proxy thread stopped while it parsed the new one")
}

#[cfg(test)]
mod tests;
