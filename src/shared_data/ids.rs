//! Numbers that are unique within a proxy, and the number of the proxy itself.

use super::{SharedValue, compare_and_set};
use crate::host;
use burst_model::hash;
use burst_model::records::{ID_KEY, PROXY_KEY};
use burst_model::sync::election::VmId;

/// A number that no other VM of this proxy has. `None` if other VMs take numbers at the same moment: try again in the next
/// tick.
pub(crate) fn new_vm_id() -> Option<VmId> {
    let last = SharedValue::read(ID_KEY);
    let last_id = last.bytes.first_chunk().copied().map_or(0, u32::from_le_bytes);
    let id = last_id.wrapping_add(1);
    compare_and_set(ID_KEY, &id.to_le_bytes(), last.cas).ok()?;
    Some(VmId(id))
}

/// The number of this proxy. Node ids may be empty or equal, so the time in nanoseconds is part of it. `None` if another
/// VM writes it at the same moment.
pub(crate) fn proxy_id() -> Option<u64> {
    let found = SharedValue::read(PROXY_KEY);
    if let Some(id) = found.bytes.first_chunk().copied() {
        return Some(u64::from_le_bytes(id));
    }
    let id = hash::of(&(host::property(&["xds", "node", "id"]), host::nanoseconds()));
    compare_and_set(PROXY_KEY, &id.to_le_bytes(), found.cas).ok()?;
    Some(id)
}
