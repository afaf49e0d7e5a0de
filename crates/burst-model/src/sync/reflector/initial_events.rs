//! A list that the server sends as the first events of a watch.
//! <https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists>

use super::changes::change_name;
use super::listing::ListedObjects;
use crate::hash;
use crate::kube::{Change, ListPage, Resource};
use crate::name::ObjectName;
use foldhash::fast::RandomState;
use std::collections::HashSet;

/// The events until the bookmark that ends them.
#[derive(Debug, Default)]
pub(super) struct InitialEvents {
    listed: ListedObjects,
    /// The hashes of the names in it.
    names: HashSet<u64, RandomState>,
    /// The changes that happened while the list was being sent, in order.
    later: Vec<Change>,
}

impl InitialEvents {
    /// Adds events, as far as the limits of a list allow.
    pub(super) fn add(&mut self, resource: &Resource, changes: Vec<Change>) {
        let mut page = ListPage::default();
        for change in changes {
            // From the first event on that is not of another object, the rest are changes of the list.
            if !self.later.is_empty() || !self.is_another_object(&change) {
                self.later.push(change);
                continue;
            }
            match change {
                Change::Apply(object) => page.objects.push(object),
                Change::Invalid(item) => page.invalid.push(item),
                Change::Retained(name) => page.retained.push(name),
                Change::Delete(_) => {}
            }
        }
        self.listed.add_page(resource, page);
    }

    fn is_another_object(&mut self, change: &Change) -> bool {
        let name = change_name(change);
        match change {
            Change::Delete(_) => false,
            // An object without a name is not known to be the same.
            Change::Invalid(_) if ObjectName::parse(&name).is_err() => true,
            _ => self.names.insert(hash::of_bytes(name.as_bytes())),
        }
    }

    /// The list as of `resource_version`, and the changes that are to be applied to it.
    pub(super) fn into_list(self, resource_version: String) -> (ListedObjects, Vec<Change>) {
        let mut listed = self.listed;
        listed.resource_version = resource_version;
        (listed, self.later)
    }
}
