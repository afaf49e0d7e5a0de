//! Numbered keys with one writer each. A key cannot be deleted, so an emptied slot is used again, and there are never more
//! slots than there were writers at one time.

use super::{Cas, MAX_TRIES, SharedValue, compare_and_set};
use burst_model::request_rates;

/// Keys with one prefix, numbered from 0.
#[derive(Debug)]
pub(crate) struct Slots {
    prefix: String,
    capacity: usize,
}

/// There are too many writers, or they write too often.
#[derive(Debug)]
pub(crate) struct NoFreeSlot;

impl Slots {
    pub(crate) fn new(prefix: String, capacity: usize) -> Self {
        Self { prefix, capacity }
    }

    /// The key of a slot.
    pub(crate) fn key(prefix: &str, slot: usize) -> String {
        format!("{prefix}/{slot}")
    }

    /// All slots that were ever written, in order.
    pub(crate) fn all(&self) -> impl Iterator<Item = (usize, SharedValue)> {
        (0..self.capacity)
            .map(|slot| (slot, SharedValue::read(&Self::key(&self.prefix, slot))))
            .take_while(|(_, found)| found.exists())
    }

    /// Writes the tally of `id` over the last one of that id, or else to the first free slot.
    pub(crate) fn put(&self, id: u64, tally: &str) -> Result<(), NoFreeSlot> {
        for _ in 0..MAX_TRIES {
            let (slot, cas) = self.find(id).ok_or(NoFreeSlot)?;
            if compare_and_set(&Self::key(&self.prefix, slot), tally.as_bytes(), cas).is_ok() {
                return Ok(());
            }
        }
        Err(NoFreeSlot)
    }

    fn find(&self, id: u64) -> Option<(usize, Cas)> {
        let (mut free, mut used) = (None, 0);
        for (slot, found) in self.all() {
            used = slot.saturating_add(1);
            if request_rates::id_of(&found.bytes) == Some(id) {
                return Some((slot, found.cas));
            }
            if found.bytes.is_empty() {
                free.get_or_insert((slot, found.cas));
            }
        }
        free.or_else(|| (used < self.capacity).then(|| (used, Cas::default())))
    }

    /// Empties a slot unless it was written after `found` was read.
    pub(crate) fn release(&self, slot: usize, found: &SharedValue) {
        let _ = compare_and_set(&Self::key(&self.prefix, slot), &[], found.cas);
    }
}
