//! Keys of shared data that only the leader writes.
//!
//! Every write carries the CAS number that the key had when the office was taken, or that the write before gave it, and
//! taking the office rewrites each key. So a deposed leader, which does not know yet, cannot overwrite anything.

use crate::host::{self, Cas, CasConflict, SharedValue};
use burst_model::sync::election::{Lease, VmId};
use std::rc::Rc;

/// The time from taking the lease to losing it.
#[derive(Debug)]
pub(crate) struct Term {
    lease: String,
    holder: Option<VmId>,
}

impl Term {
    /// Of who took the lease under that key.
    pub(crate) fn new(lease: &str, holder: Option<VmId>) -> Self {
        Self {
            lease: lease.into(),
            holder,
        }
    }

    fn is_current(&self) -> bool {
        let lease: Option<Lease> = SharedValue::read(&self.lease).record();
        lease.is_some_and(|lease| lease.holder == self.holder)
    }
}

/// A key that only the leader writes.
#[derive(Debug)]
pub(crate) struct FencedKey {
    name: String,
    cas: Cas,
    tenure: Rc<Term>,
}

impl FencedKey {
    /// Rewrites what is there, so that nobody else's CAS number holds any more; the bytes.
    pub(crate) fn open(name: &str, tenure: &Rc<Term>) -> Result<(Self, Vec<u8>), CasConflict> {
        let found = SharedValue::read(name);
        let mut key = Self {
            name: name.into(),
            cas: found.cas,
            tenure: tenure.clone(),
        };
        key.write(&found.bytes)?;
        Ok((key, found.bytes))
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), CasConflict> {
        host::compare_and_set(&self.name, bytes, self.cas)?;
        // A write does not tell its new number, and a successor may have rewritten the same bytes since. It took the
        // lease before that: who still has it after the read has read a number of its own.
        self.cas = SharedValue::read(&self.name).cas;
        if self.tenure.is_current() {
            Ok(())
        } else {
            Err(CasConflict)
        }
    }
}
