//! Changes of objects, by the names of their objects.

use crate::hash;
use crate::kube::{Change, InvalidItem};
use foldhash::fast::RandomState;
use std::borrow::Cow;
use std::collections::HashSet;

/// The last change of each object, in order.
pub(super) fn last_changes(mut changes: Vec<Change>) -> Vec<Change> {
    let mut later = HashSet::with_hasher(RandomState::default());
    changes.reverse();
    changes.retain(|change| later.insert(hash::of_bytes(change_name(change).as_bytes())));
    changes.reverse();
    changes
}

/// `namespace/name` of the object.
pub(super) fn change_name(change: &Change) -> Cow<'_, str> {
    match change {
        Change::Apply(object) => object.name().to_string().into(),
        Change::Invalid(InvalidItem { name, .. }) | Change::Retained(name) => name.into(),
        Change::Delete(name) => name.to_string().into(),
    }
}
