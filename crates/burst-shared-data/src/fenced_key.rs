//! Keys that only the leader writes, for as long as it leads.
//!
//! A leader rewrites each key when its term begins, and every later write carries the CAS number of the write before. So
//! a leader that was deposed and does not know it yet cannot overwrite anything.

use crate::shared_data::{Cas, CasConflict, SharedData};
use burst_model::sync::election::{Lease, VmId};
use std::marker::PhantomData;
use std::rc::Rc;

/// The time from taking the lease to losing it.
#[derive(Debug)]
pub struct Term<H> {
    lease: String,
    holder: Option<VmId>,
    host: PhantomData<H>,
}

impl<H: SharedData> Term<H> {
    /// The term of `holder`, which has just taken the lease under that key.
    #[must_use]
    pub fn new(lease: &str, holder: Option<VmId>) -> Self {
        Self {
            lease: lease.into(),
            holder,
            host: PhantomData,
        }
    }

    fn is_current(&self) -> bool {
        let lease: Option<Lease> = H::read(&self.lease).record();
        lease.is_some_and(|lease| lease.holder == self.holder)
    }
}

/// A key that only the leader writes.
#[derive(Debug)]
pub struct FencedKey<H> {
    name: String,
    cas: Cas,
    term: Rc<Term<H>>,
}

impl<H: SharedData> FencedKey<H> {
    /// Rewrites the key, so that CAS numbers of earlier leaders no longer hold. Returns its bytes too.
    ///
    /// # Errors
    /// Another VM leads now.
    pub fn open(name: &str, term: &Rc<Term<H>>) -> Result<(Self, Vec<u8>), CasConflict> {
        let found = H::read(name);
        let mut key = Self {
            name: name.into(),
            cas: found.cas,
            term: term.clone(),
        };
        key.write(&found.bytes)?;
        Ok((key, found.bytes))
    }

    /// Checks that the key still holds what this leader wrote.
    ///
    /// # Errors
    /// Another VM leads now, or something else wrote the key: all Wasm plugins of a proxy may write it.
    pub fn check(&self) -> Result<(), CasConflict> {
        if H::read(&self.name).cas == self.cas {
            Ok(())
        } else {
            Err(CasConflict)
        }
    }

    /// Writes the key.
    ///
    /// # Errors
    /// Another VM leads now.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), CasConflict> {
        H::compare_and_set(&self.name, bytes, self.cas)?;
        // A write does not return its CAS number, and a successor may have rewritten the same bytes in between. A
        // successor takes the lease first, so if we still hold it after the read, this CAS number is ours.
        self.cas = H::read(&self.name).cas;
        if self.term.is_current() {
            Ok(())
        } else {
            Err(CasConflict)
        }
    }
}
