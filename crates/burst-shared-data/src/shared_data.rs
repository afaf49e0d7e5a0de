//! Shared data: a map of bytes that every Wasm VM of the proxy reads and writes with compare-and-swap.
//! <https://github.com/proxy-wasm/spec/tree/main/abi-versions/v0.2.1#shared-key-value-stores>

use burst_model::quarantine::ItemKind;
use burst_model::records::Record;

/// Envoy counts CAS numbers up from 1, so it never hands this one out. Envoy creates an absent key whatever number a write
/// carries, and overwrites without a check if it carries none. With this number only one of two first writers wins.
const NEVER_HANDED_OUT: u32 = u32::MAX;

/// How often a write is tried again because another VM wrote in between.
pub(crate) const MAX_TRIES: usize = 8;

/// Shared data, as a host offers it.
pub trait SharedData {
    /// Returns the bytes of a key, and the number of the write that stored them. `None` if the key was never written.
    fn get(key: &str) -> Option<(Vec<u8>, u32)>;

    /// Writes a key.
    ///
    /// # Errors
    /// The key exists, and `cas` is another number than that of its last write.
    fn set(key: &str, bytes: &[u8], cas: Option<u32>) -> Result<(), CasConflict>;

    /// Called with the bytes of an item before they are parsed, while its mark is in shared data. The host of a test can end
    /// the VM here.
    fn before_parse(_kind: ItemKind, _bytes: &[u8]) {}

    /// Reads a key.
    #[must_use]
    fn read(key: &str) -> SharedValue {
        Self::get(key).map_or_else(SharedValue::default, |(bytes, cas)| SharedValue {
            bytes,
            cas: Cas(cas),
        })
    }

    /// Writes a key if its value is still the one that was read with `cas`.
    ///
    /// # Errors
    /// Another VM wrote the key in between.
    fn compare_and_set(key: &str, bytes: &[u8], Cas(cas): Cas) -> Result<(), CasConflict> {
        Self::set(key, bytes, Some(cas))
    }

    /// Writes a key whatever its value is.
    fn overwrite(key: &str, bytes: &[u8]) {
        let _ = Self::set(key, bytes, None);
    }

    /// Reads a key and writes what `change` makes of it, and does both again while other VMs write in between. `change` also
    /// gives a result, or refuses to write; the inner `Err` is that refusal.
    ///
    /// # Errors
    /// Other VMs write all the time.
    fn update<T, E>(
        key: &str,
        mut change: impl FnMut(&[u8]) -> Result<(Vec<u8>, T), E>,
    ) -> Result<Result<T, E>, CasConflict> {
        for _ in 0..MAX_TRIES {
            let found = Self::read(key);
            let (bytes, result) = match change(&found.bytes) {
                Ok(changed) => changed,
                Err(refusal) => return Ok(Err(refusal)),
            };
            if Self::compare_and_set(key, &bytes, found.cas).is_ok() {
                return Ok(Ok(result));
            }
        }
        Err(CasConflict)
    }
}

/// The value of a key.
#[derive(Debug, Default)]
pub struct SharedValue {
    /// The bytes. Empty if the key is absent or was emptied.
    pub bytes: Vec<u8>,
    /// A write with this number replaces these bytes and no others.
    pub cas: Cas,
}

/// A compare-and-swap number. A write with the default one can only create a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cas(u32);

impl Default for Cas {
    fn default() -> Self {
        Self(NEVER_HANDED_OUT)
    }
}

/// Another VM wrote the key in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CasConflict;

impl SharedValue {
    /// The record that the bytes hold. `None` if they hold none, or one of another version.
    #[must_use]
    pub fn record<R: Record>(&self) -> Option<R> {
        R::from_bytes(&self.bytes)
    }

    /// Returns whether the key was ever written. A key cannot be deleted.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.cas != Cas::default()
    }
}
