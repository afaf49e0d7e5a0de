//! Converts JSON to YAML.

use serde_json::Deserializer;
use serde_transcode::Transcoder;

/// Converts a JSON document, which the caller has written.
pub(super) fn from_json(json: &[u8]) -> Vec<u8> {
    let mut json = Deserializer::from_slice(json);
    // Each JSON document has a YAML form, so neither reading nor writing can fail.
    let yaml = serde_saphyr::to_string(&Transcoder::new(&mut json));
    yaml.unwrap_or_default().into_bytes()
}
