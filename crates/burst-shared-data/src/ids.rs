//! Numbers that are unique within a proxy, and the number of the proxy itself.

use crate::shared_data::SharedData;
use burst_model::records::{ID_KEY, PROXY_KEY};
use burst_model::sync::election::VmId;
use std::cell::Cell;
use std::marker::PhantomData;

/// A number that no other VM of this proxy has. `None` if other VMs take numbers at the same moment: try again in the next
/// tick.
#[must_use]
pub fn new_vm_id<H: SharedData>() -> Option<VmId> {
    let last = H::read(ID_KEY);
    let last_id = last.bytes.first_chunk().copied().map_or(0, u32::from_le_bytes);
    let id = last_id.wrapping_add(1);
    H::compare_and_set(ID_KEY, &id.to_le_bytes(), last.cas).ok()?;
    Some(VmId(id))
}

/// A number like [`new_vm_id`], which is taken when it is first needed. Envoy tries a configuration in a canary VM, which
/// should write nothing.
#[derive(Debug)]
pub struct LazyId<H> {
    id: Cell<Option<VmId>>,
    host: PhantomData<H>,
}

impl<H> Default for LazyId<H> {
    fn default() -> Self {
        Self {
            id: Cell::new(None),
            host: PhantomData,
        }
    }
}

impl<H: SharedData> LazyId<H> {
    /// The number. `None` if other VMs take numbers at the same moment.
    #[must_use]
    pub fn get(&self) -> Option<VmId> {
        self.id.set(self.id.get().or_else(new_vm_id::<H>));
        self.id.get()
    }
}

/// The number of this proxy. If it has none yet, it is `new_id` from now on. `None` if another VM writes it at the same
/// moment.
pub(crate) fn proxy_id<H: SharedData>(new_id: impl FnOnce() -> u64) -> Option<u64> {
    let found = H::read(PROXY_KEY);
    if let Some(id) = found.bytes.first_chunk().copied() {
        return Some(u64::from_le_bytes(id));
    }
    let id = new_id();
    H::compare_and_set(PROXY_KEY, &id.to_le_bytes(), found.cas).ok()?;
    Some(id)
}
