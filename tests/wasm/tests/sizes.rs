//! The sizes that differ from a developer's machine.
#![cfg(target_arch = "wasm32")]

use burst_model::snapshot::Snapshot;
use burst_wasm_tests::make;
use wasm_bindgen_test::wasm_bindgen_test;

#[wasm_bindgen_test]
fn a_length_has_32_bits() {
    assert_eq!(u32::try_from(usize::MAX), Ok(u32::MAX));
}

/// Sums and products of offsets that fit into 64 bits leave 32; these tests are built with overflow checks.
#[wasm_bindgen_test]
fn offsets_and_counts_at_the_end_of_memory_are_refused() {
    let good = make().snapshot;
    // From the length behind magic and generation on, everything but the texts is a u32.
    for at in (16..good.len() - 4).step_by(4) {
        for number in [u32::MAX, u32::MAX - 3, u32::MAX / 20, u32::MAX / 28, 1 << 31] {
            let mut bytes = good.clone();
            bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
            if let Ok(snapshot) = Snapshot::open(bytes) {
                let rows = snapshot.section("services").map(|section| section.rows().count());
                assert!(rows.is_none_or(|rows| rows <= 4), "{number:#x} at {at}: {rows:?}");
            }
        }
    }
}
