//! A list as it is read, page by page: only what there is room for is kept.

use crate::kube::{Failure, ListPage, Object, Resource};
use crate::sync::excluded::ExcludedObjects;
use crate::sync::limits::{ByteAccount, MOST_OF_LIST};
use crate::time::Time;
use std::rc::Rc;

/// The longest `continue` token that is sent back. One of Kubernetes has the key of an object in it.
const LONGEST_CONTINUE_TOKEN: usize = 8 << 10;

/// A list that is being read.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// When its first page was asked for.
    pub(super) begun: Time,
    /// What its pages held.
    pub(super) seen: ListedObjects,
    /// How many lead to another one, and what the last of them leads to.
    pages: u32,
    continue_token: String,
}

impl Listing {
    /// One whose first page is asked for.
    pub(super) fn begin(now: Time) -> Self {
        Self {
            begun: now,
            ..Self::default()
        }
    }

    /// Notes that the last page leads to another one.
    ///
    /// # Errors
    /// There are more of them than any list has, or the last one leads to itself.
    pub(super) fn continue_with(&mut self, cursor: String, most_pages: u32) -> Result<(), Failure> {
        self.pages += 1;
        if self.pages >= most_pages || cursor == self.continue_token || cursor.len() > LONGEST_CONTINUE_TOKEN {
            return Err(Failure::Endless(self.pages));
        }
        self.continue_token = cursor;
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
    pub version: String,
    /// The last object that is over a limit: none of its namespace is taken any more, so that what is left out does not
    /// depend on where a page ends.
    over: Option<Rc<Object>>,
}

impl ListedObjects {
    /// Takes one more page, as far as there is room for it.
    pub fn take(&mut self, resource: &Resource, page: ListPage) {
        for object in page.objects.into_iter().map(Rc::new) {
            let namespace = &object.name().namespace;
            match &self.over {
                Some(over) if over.name().namespace == *namespace => self.exclude(resource, &[object]),
                _ => {
                    self.account.add(&object);
                    self.objects.push(object);
                }
            }
        }
        let over = self.account.fit(&mut self.objects, MOST_OF_LIST);
        self.exclude(resource, &over);
        self.over = over.last().cloned().or(self.over.take());
        page.bad
            .into_iter()
            .for_each(|bad| self.excluded.put_bad(resource, bad));
        self.retained.extend(page.retained);
        self.version = page.version;
    }

    fn exclude(&mut self, resource: &Resource, over: &[Rc<Object>]) {
        self.excluded.put_over(resource, over, &self.account);
    }
}
