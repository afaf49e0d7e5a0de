//! How JSON that others wrote is read.

use serde::Deserialize;

/// As text it would be read by another of `serde_json`'s readers, and each makes code of its own for every type.
///
/// # Errors
/// It is not JSON, or not that of a `T`.
pub fn from_slice<'a, T: Deserialize<'a>>(json: &'a [u8]) -> serde_json::Result<T> {
    serde_json::from_slice(json)
}
