//! Numbered keys with one writer each. A key cannot be deleted, so an emptied slot is used again, and there are never more
//! slots than there were writers at one time.

use crate::shared_data::{Cas, MAX_TRIES, SharedData, SharedValue};
use burst_model::request_rates;
use std::marker::PhantomData;

/// Keys with one prefix, numbered from 0.
#[derive(Debug)]
pub struct Slots<H> {
    prefix: String,
    capacity: usize,
    host: PhantomData<H>,
}

/// There are too many writers, or they write too often.
#[derive(Debug)]
pub struct NoFreeSlot;

/// The key of a slot.
pub(crate) fn slot_key(prefix: &str, slot: usize) -> String {
    format!("{prefix}/{slot}")
}

impl<H: SharedData> Slots<H> {
    /// The slots of at most `capacity` writers.
    #[must_use]
    pub fn new(prefix: String, capacity: usize) -> Self {
        Self {
            prefix,
            capacity,
            host: PhantomData,
        }
    }

    /// All slots that were ever written, in order.
    pub fn all(&self) -> impl Iterator<Item = (usize, SharedValue)> {
        (0..self.capacity)
            .map(|slot| (slot, H::read(&slot_key(&self.prefix, slot))))
            .take_while(|(_, found)| found.exists())
    }

    /// Writes the tally of `id` over the last one of that id, or else to the first free slot.
    ///
    /// # Errors
    /// There are too many writers, or they write too often.
    pub fn put(&self, id: u64, tally: &str) -> Result<(), NoFreeSlot> {
        for _ in 0..MAX_TRIES {
            let (slot, cas) = self.find(id).ok_or(NoFreeSlot)?;
            if H::compare_and_set(&slot_key(&self.prefix, slot), tally.as_bytes(), cas).is_ok() {
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
    pub fn release(&self, slot: usize, found: &SharedValue) {
        let _ = H::compare_and_set(&slot_key(&self.prefix, slot), &[], found.cas);
    }
}
