//! The model gives the same bytes on every target: this test runs natively and, on wasm32, in node.
//!
//! `BURST_RECORD=1 cargo test -p burst-wasm-tests` writes the golden files again, natively.

use burst_wasm_tests::{Made, make};

const SNAPSHOT: &[u8] = include_bytes!("../../golden/model/snapshot.bin");
const TRANSCRIPT: &str = include_str!("../../golden/model/transcript.txt");

#[cfg_attr(target_arch = "wasm32", wasm_bindgen_test::wasm_bindgen_test)]
#[cfg_attr(not(target_arch = "wasm32"), test)]
fn the_recorded_answers_lead_to_the_golden_bytes() {
    let Made { snapshot, transcript } = make();
    #[cfg(not(target_arch = "wasm32"))]
    if std::env::var_os("BURST_RECORD").is_some() {
        return record(&snapshot, &transcript);
    }
    assert_eq!(transcript, TRANSCRIPT);
    assert_eq!(snapshot, SNAPSHOT);
}

#[cfg(not(target_arch = "wasm32"))]
fn record(snapshot: &[u8], transcript: &str) {
    let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/model");
    std::fs::write(golden.join("snapshot.bin"), snapshot).unwrap();
    std::fs::write(golden.join("transcript.txt"), transcript).unwrap();
}
