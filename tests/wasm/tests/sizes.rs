//! The sizes that differ from a developer's machine.
#![cfg(target_arch = "wasm32")]

use wasm_bindgen_test::wasm_bindgen_test;

#[wasm_bindgen_test]
fn a_length_has_32_bits() {
    assert_eq!(u32::try_from(usize::MAX), Ok(u32::MAX));
}
