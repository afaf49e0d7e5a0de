//! Converts JSON to YAML, as kube-apiserver does: the fields are sorted.

use serde_json::Value;

/// Converts a JSON document. Returns nothing if the document is not complete.
pub(super) fn from_json(json: &[u8]) -> Vec<u8> {
    let Ok(document) = serde_json::from_slice::<Value>(json) else {
        return Vec::new();
    };
    serde_saphyr::to_string(&document).unwrap_or_default().into_bytes()
}
