//! Places in shared data that one writer each holds for as long as it goes on writing. Keys of shared data cannot be
//! deleted, so a place that was emptied is taken again, and there are never more than there were writers at one time.

use crate::host::{self, Cas, SharedValue};
use burst_model::request_rates;

/// Places under keys with one beginning, counted from 0.
#[derive(Debug)]
pub(super) struct Slots {
    prefix: String,
    most: usize,
}

/// Others who may be faster, one after the other, before a write is given up.
const TRIES: usize = 8;

/// There are too many writers, or they are too busy.
#[derive(Debug)]
pub(super) struct NoFreeSlot;

impl Slots {
    pub(super) fn new(prefix: String, most: usize) -> Self {
        Self { prefix, most }
    }

    fn key(&self, place: usize) -> String {
        format!("{}/{place}", self.prefix)
    }

    /// All places that were ever written, in order.
    pub(super) fn all(&self) -> impl Iterator<Item = (usize, SharedValue)> {
        let places = (0..self.most).map(|place| (place, SharedValue::read(&self.key(place))));
        places.take_while(|(_, found)| found.cas != Cas::default())
    }

    /// Writes the share of `id` where its last one stands, or else to the first place that is free.
    pub(super) fn put(&self, id: u64, text: &str) -> Result<(), NoFreeSlot> {
        for _ in 0..TRIES {
            let (place, cas) = self.place(id).ok_or(NoFreeSlot)?;
            if host::compare_and_set(&self.key(place), text.as_bytes(), cas).is_ok() {
                return Ok(());
            }
        }
        Err(NoFreeSlot)
    }

    fn place(&self, id: u64) -> Option<(usize, Cas)> {
        let (mut free, mut used) = (None, 0);
        for (place, found) in self.all() {
            used = place.saturating_add(1);
            if request_rates::id_of(&found.bytes) == Some(id) {
                return Some((place, found.cas));
            }
            if found.bytes.is_empty() {
                free.get_or_insert((place, found.cas));
            }
        }
        free.or_else(|| (used < self.most).then(|| (used, Cas::default())))
    }

    /// Empties a place, unless it was written since; whether it did.
    pub(super) fn free(&self, place: usize, found: &SharedValue) -> bool {
        host::compare_and_set(&self.key(place), &[], found.cas).is_ok()
    }
}
