//! A list as it is read, page by page: only what there is room for is kept.

use crate::kube::{Failure, ListPage, Object, Resource};
use crate::sync::excluded::ExcludedObjects;
use crate::sync::limits::{ByteAccount, MAX_LIST_BYTES};
use crate::time::Time;
use std::rc::Rc;

/// The longest `continue` token that is sent back. One of Kubernetes has the key of an object in it.
const MAX_CONTINUE_TOKEN_BYTES: usize = 8 << 10;

/// A list that is being read.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// When its first page was asked for.
    pub(super) started_at: Time,
    /// What its pages held.
    pub(super) listed: ListedObjects,
    /// How many lead to another one, and what the last of them leads to.
    pages: u32,
    continue_token: String,
}

impl Listing {
    /// One whose first page is asked for.
    pub(super) fn begin(now: Time) -> Self {
        Self {
            started_at: now,
            ..Self::default()
        }
    }

    /// Notes that the last page leads to another one.
    ///
    /// # Errors
    /// There are more of them than any list has, or the last one leads to itself.
    pub(super) fn continue_with(&mut self, continue_token: String, max_pages: u32) -> Result<(), Failure> {
        self.pages += 1;
        if self.pages >= max_pages
            || continue_token == self.continue_token
            || continue_token.len() > MAX_CONTINUE_TOKEN_BYTES
        {
            return Err(Failure::EndlessList(self.pages));
        }
        self.continue_token = continue_token;
        Ok(())
    }
}

/// A whole list, or as much of it as was read.
#[derive(Debug, Default)]
pub struct ListedObjects {
    /// The objects that could be read, as far as there is room for them.
    pub objects: Vec<Rc<Object>>,
    /// What they take.
    pub account: ByteAccount,
    /// The ones that are left out.
    pub excluded: ExcludedObjects,
    /// The ones that were not read this time, and are as they were.
    pub retained: Vec<String>,
    /// The list's `resourceVersion`.
    pub resource_version: String,
    /// The last object that is over a limit: none of its namespace is taken any more, so that what is left out does not
    /// depend on where a page ends.
    last_over_limit: Option<Rc<Object>>,
}

impl ListedObjects {
    /// Takes one more page, as far as there is room for it.
    pub fn add_page(&mut self, resource: &Resource, page: ListPage) {
        for object in page.objects.into_iter().map(Rc::new) {
            let namespace = &object.name().namespace;
            match &self.last_over_limit {
                Some(over) if over.name().namespace == *namespace => self.exclude(resource, &[object]),
                _ => {
                    self.account.add(&object);
                    self.objects.push(object);
                }
            }
        }
        let over = self.account.evict_over_limit(&mut self.objects, MAX_LIST_BYTES);
        self.exclude(resource, &over);
        self.last_over_limit = over.last().cloned().or(self.last_over_limit.take());
        page.invalid
            .into_iter()
            .for_each(|bad| self.excluded.insert_invalid(resource, bad));
        self.retained.extend(page.retained);
        self.resource_version = page.resource_version;
    }

    fn exclude(&mut self, resource: &Resource, over: &[Rc<Object>]) {
        self.excluded.insert_over_limit(resource, over, &self.account);
    }
}
