//! Shared data: a map of bytes that every Wasm VM of the proxy reads and writes with compare-and-swap.
//! <https://github.com/proxy-wasm/spec/tree/main/abi-versions/v0.2.1#shared-key-value-stores>

mod fenced_key;
mod garbage_collector;
mod ids;
mod slots;

pub(crate) use fenced_key::{FencedKey, Term};
pub(crate) use garbage_collector::GarbageCollector;
pub(crate) use ids::{new_vm_id, proxy_id};
pub(crate) use slots::Slots;

use burst_model::records::Record;
use proxy_wasm::hostcalls;

/// Envoy counts CAS numbers up from 1, so it never hands this one out. Envoy creates an absent key whatever number a write
/// carries, and overwrites without a check if it carries none. With this number only one of two first writers wins.
const NEVER_HANDED_OUT: u32 = u32::MAX;

/// How often a write is tried again because another VM wrote in between.
const MAX_TRIES: usize = 8;

/// The value of a key.
#[derive(Debug, Default)]
pub(crate) struct SharedValue {
    /// The bytes. Empty if the key is absent or was emptied.
    pub(crate) bytes: Vec<u8>,
    /// A write with this number replaces these bytes and no others.
    pub(crate) cas: Cas,
}

/// A compare-and-swap number. A write with the default one can only create a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cas(u32);

impl Default for Cas {
    fn default() -> Self {
        Self(NEVER_HANDED_OUT)
    }
}

/// Another VM wrote the key in between.
#[derive(Debug)]
pub(crate) struct CasConflict;

impl SharedValue {
    pub(crate) fn read(key: &str) -> Self {
        let (bytes, cas) = hostcalls::get_shared_data(key).unwrap_or_default();
        Self {
            bytes: bytes.unwrap_or_default(),
            cas: cas.map_or_else(Cas::default, Cas),
        }
    }

    /// The record that the bytes hold. `None` if they hold none, or one of another version.
    pub(crate) fn record<R: Record>(&self) -> Option<R> {
        R::from_bytes(&self.bytes)
    }

    /// Whether the key was ever written. A key cannot be deleted.
    pub(crate) fn exists(&self) -> bool {
        self.cas != Cas::default()
    }
}

/// Writes a key if its value is still the one that was read with `cas`.
pub(crate) fn compare_and_set(key: &str, bytes: &[u8], Cas(cas): Cas) -> Result<(), CasConflict> {
    hostcalls::set_shared_data(key, Some(bytes), Some(cas)).map_err(|_| CasConflict)
}

/// Writes a key whatever its value is.
pub(crate) fn overwrite(key: &str, bytes: &[u8]) {
    let _ = hostcalls::set_shared_data(key, Some(bytes), None);
}

/// Reads a key and writes what `change` makes of it, and does both again while other VMs write in between. `change` also
/// gives a result, or refuses to write; the inner `Err` is that refusal.
pub(crate) fn update<T, E>(
    key: &str,
    mut change: impl FnMut(&[u8]) -> Result<(Vec<u8>, T), E>,
) -> Result<Result<T, E>, CasConflict> {
    for _ in 0..MAX_TRIES {
        let found = SharedValue::read(key);
        let (bytes, result) = match change(&found.bytes) {
            Ok(changed) => changed,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if compare_and_set(key, &bytes, found.cas).is_ok() {
            return Ok(Ok(result));
        }
    }
    Err(CasConflict)
}
