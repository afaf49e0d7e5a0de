//! Shared data in memory, as Envoy keeps it. Each test runs on a thread of its own, and so has its own.

use crate::shared_data::{CasConflict, SharedData};
use burst_model::quarantine::ItemKind;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

thread_local! {
    static VALUES: RefCell<BTreeMap<String, (Vec<u8>, u32)>> = const { RefCell::new(BTreeMap::new()) };
    static LAST_CAS: Cell<u32> = const { Cell::new(0) };
    static BEFORE_WRITE: RefCell<Option<Interruption>> = const { RefCell::new(None) };
    static DIES_ON: Cell<Option<ItemKind>> = const { Cell::new(None) };
}

/// What another VM does before a write to that key.
struct Interruption {
    key: String,
    times: usize,
    action: fn(),
}

#[derive(Debug, Default)]
pub(crate) struct Memory;

/// Runs `action` before each of the next `times` writes to a key that ends so, as if another VM were faster.
pub(crate) fn before_write(key: &str, times: usize, action: fn()) {
    let key = key.to_owned();
    BEFORE_WRITE.set(Some(Interruption { key, times, action }));
}

/// Ends the VM, by a panic, when it parses an item of that kind.
pub(crate) fn die_on(kind: Option<ItemKind>) {
    DIES_ON.set(kind);
}

/// The bytes of a key. Panics if it was never written.
pub(crate) fn bytes(key: &str) -> Vec<u8> {
    Memory::get(key).unwrap_or_else(|| panic!("{key} was never written")).0
}

/// The keys that hold bytes.
pub(crate) fn used_keys() -> Vec<String> {
    let is_used = |(key, (bytes, _)): (&String, &(Vec<u8>, u32))| (!bytes.is_empty()).then(|| key.clone());
    VALUES.with_borrow(|values| values.iter().filter_map(is_used).collect())
}

fn interrupt(key: &str) {
    let interruption = BEFORE_WRITE.take();
    let Some(mut interruption) = interruption else { return };
    if !key.ends_with(&interruption.key) {
        return BEFORE_WRITE.set(Some(interruption));
    }
    (interruption.action)();
    interruption.times -= 1;
    if interruption.times > 0 {
        BEFORE_WRITE.set(Some(interruption));
    }
}

impl SharedData for Memory {
    fn get(key: &str) -> Option<(Vec<u8>, u32)> {
        VALUES.with_borrow(|values| values.get(key).cloned())
    }

    /// As Envoy does: an absent key is created whatever the number is.
    fn set(key: &str, bytes: &[u8], cas: Option<u32>) -> Result<(), CasConflict> {
        interrupt(key);
        VALUES.with_borrow_mut(|values| {
            let last = values.get(key).map(|(_, last)| *last);
            if last.is_some_and(|last| cas.is_some_and(|cas| cas != last)) {
                return Err(CasConflict);
            }
            LAST_CAS.set(LAST_CAS.get() + 1);
            values.insert(key.to_owned(), (bytes.to_owned(), LAST_CAS.get()));
            Ok(())
        })
    }

    fn before_parse(kind: ItemKind, _: &[u8]) {
        assert_ne!(DIES_ON.get(), Some(kind), "the VM dies");
    }
}
