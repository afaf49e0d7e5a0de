//! A list that is being read page by page. Objects over a limit are dropped after each page.

use crate::kube::{Failure, ListPage, Object, Resource};
use crate::sync::excluded::ExcludedObjects;
use crate::sync::limits::{ByteAccount, MAX_LIST_BYTES};
use crate::time::Time;
use std::rc::Rc;

/// The longest `continue` token that is sent back. A token of Kubernetes holds the key of one object.
const MAX_CONTINUE_TOKEN_BYTES: usize = 8 << 10;

/// A list that is being read.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// When its first page was requested.
    pub(super) started_at: Time,
    /// The objects of its pages so far.
    pub(super) listed: ListedObjects,
    /// Pages that were followed by another one.
    pages: u32,
    /// The token of the last of them.
    continue_token: String,
}

impl Listing {
    /// A list whose first page is being requested.
    pub(super) fn begin(now: Time) -> Self {
        Self {
            started_at: now,
            ..Self::default()
        }
    }

    /// Returns whether no page was read yet.
    pub(super) fn is_first_page(&self) -> bool {
        self.pages == 0
    }

    /// Notes that the last page is followed by another one.
    ///
    /// # Errors
    /// Returns [`Failure::EndlessList`] if there are more pages than any list has, or a page is followed by itself.
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

/// A list, or as much of it as was read.
#[derive(Debug, Default)]
pub struct ListedObjects {
    /// The valid objects that exceed no limit.
    pub objects: Vec<Rc<Object>>,
    /// The memory that they take.
    pub account: ByteAccount,
    /// The objects that are invalid, or exceed a limit.
    pub excluded: ExcludedObjects,
    /// The names of objects that were not parsed this time. They are as they were before.
    pub retained: Vec<String>,
    /// The list's `resourceVersion`.
    pub resource_version: String,
    /// The last object that exceeded a limit. No more objects of its namespace are added, so that it does not depend on the
    /// ends of pages which ones are excluded.
    last_over_limit: Option<Rc<Object>>,
}

impl ListedObjects {
    /// Adds a page, as far as the limits allow.
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
