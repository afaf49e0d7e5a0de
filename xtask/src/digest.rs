//! SHA-256, as images and the bill of materials name content.

use sha2::{Digest as _, Sha256};

/// Returns 64 hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
