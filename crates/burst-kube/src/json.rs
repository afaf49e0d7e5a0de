//! Parses JSON from the network.

use serde::Deserialize;

/// Parses JSON. All callers use this function: `serde_json` has another parser for strings, which would add its own code
/// for every type.
///
/// # Errors
/// Returns an error if the bytes are not JSON, or not that of a `T`.
pub fn from_slice<'a, T: Deserialize<'a>>(json: &'a [u8]) -> serde_json::Result<T> {
    serde_json::from_slice(json)
}
