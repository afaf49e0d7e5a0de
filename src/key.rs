//! Keys of shared data that only the leader writes.
//!
//! Every write carries the CAS number that the key had when the office was taken, or that the write before gave it, and
//! taking the office rewrites each key. So a deposed leader, which does not know yet, cannot overwrite anything.

use crate::host::{self, Cas, Outrun, Shared};
use burst_model::sync::lease::{Id, Lease};
use std::rc::Rc;

/// The time from taking the lease to losing it.
#[derive(Debug)]
pub(crate) struct Tenure {
    lease: String,
    holder: Option<Id>,
}

impl Tenure {
    /// Of who took the lease under that key.
    pub(crate) fn new(lease: &str, holder: Option<Id>) -> Self {
        Self {
            lease: lease.into(),
            holder,
        }
    }

    fn lasts(&self) -> bool {
        let lease: Option<Lease> = Shared::read(&self.lease).record();
        lease.is_some_and(|lease| lease.holder == self.holder)
    }
}

/// A key that only the leader writes.
#[derive(Debug)]
pub(crate) struct Key {
    name: String,
    cas: Cas,
    tenure: Rc<Tenure>,
}

impl Key {
    /// Rewrites what is there, so that nobody else's CAS number holds any more; the bytes.
    pub(crate) fn fence(name: &str, tenure: &Rc<Tenure>) -> Result<(Self, Vec<u8>), Outrun> {
        let found = Shared::read(name);
        let mut key = Self {
            name: name.into(),
            cas: found.cas,
            tenure: tenure.clone(),
        };
        key.write(&found.bytes)?;
        Ok((key, found.bytes))
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Outrun> {
        host::share(&self.name, bytes, self.cas)?;
        // A write does not tell its new number, and a successor may have rewritten the same bytes since. It took the
        // lease before that: who still has it after the read has read a number of its own.
        self.cas = Shared::read(&self.name).cas;
        if self.tenure.lasts() { Ok(()) } else { Err(Outrun) }
    }
}
