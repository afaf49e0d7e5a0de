//! A record of the leader, as another VM last read it.

use crate::quarantine::Quarantine;
use crate::shared_data::{Cas, SharedData};
use burst_model::quarantine::{Item, ItemKind};
use burst_model::records::Record;
use burst_model::time::Time;

/// A record of the leader, as this VM last read it.
#[derive(Debug, Default)]
pub struct CachedRecord<R> {
    record: R,
    /// The CAS number of the bytes that were read.
    version: Option<Cas>,
}

impl<R: Record + Default> CachedRecord<R> {
    /// Reads the record again if it was written since the last call. If its bytes are in quarantine, the last ones stay.
    pub fn refresh<H: SharedData>(&mut self, key: &str, kind: ItemKind, quarantine: &Quarantine<H>, now: Time) {
        let found = H::read(key);
        if self.version == Some(found.cas) {
            return;
        }
        let item = Item::of_bytes(kind, &found.bytes);
        if let Some(record) = quarantine.take(item, now, || found.record()) {
            self.version = Some(found.cas);
            self.record = record.unwrap_or_default();
        }
    }

    /// The record; the default one if there is none.
    pub fn get(&self) -> &R {
        &self.record
    }
}
