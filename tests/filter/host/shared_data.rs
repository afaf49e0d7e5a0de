//! Shared data, as `shared_data.cc` of proxy-wasm-cpp-host implements it.

use proxy_wasm::types::Status;
use std::collections::BTreeMap;

#[derive(Default)]
pub(super) struct SharedData {
    entries: BTreeMap<(String, String), (Vec<u8>, u32)>,
    /// One counter for all keys of all VM ids. It never returns 0, which means "no CAS given".
    last_cas: u32,
}

impl SharedData {
    pub(super) fn read(&self, vm_id: &str, key: &str) -> Option<&(Vec<u8>, u32)> {
        self.entries.get(&(vm_id.to_owned(), key.to_owned()))
    }

    /// Writes, unless the key exists with a CAS other than the given one. Creates a missing key whatever the CAS.
    pub(super) fn write(&mut self, vm_id: &str, key: &str, value: Vec<u8>, cas: u32) -> Result<(), Status> {
        match self.read(vm_id, key) {
            Some(&(_, current)) if cas != 0 && cas != current => return Err(Status::CasMismatch),
            _ => {}
        }
        self.last_cas += 1;
        self.entries
            .insert((vm_id.to_owned(), key.to_owned()), (value, self.last_cas));
        Ok(())
    }

    /// The values of a VM id whose keys have this prefix.
    pub(super) fn with_prefix(&self, vm_id: &str, prefix: &str) -> BTreeMap<String, Vec<u8>> {
        let wanted = self
            .entries
            .iter()
            .filter(|((id, key), _)| id == vm_id && key.starts_with(prefix));
        wanted
            .map(|((_, key), (value, _))| (key.clone(), value.clone()))
            .collect()
    }
}
