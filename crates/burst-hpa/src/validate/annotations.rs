//! Annotations: keys are qualified names in any case, and all of them together have a size.

use std::collections::BTreeMap;

use super::content;
use crate::field_error::Errors;
use crate::field_path::FieldPath;

/// Bytes, keys and values together.
const TOTAL_SIZE: usize = 256 << 10;

pub(super) fn validate(annotations: &BTreeMap<String, String>, path: FieldPath<'_>, errors: &mut Errors) {
    for key in annotations.keys() {
        for message in content::label_key(&key.to_lowercase()) {
            errors.invalid(path, key, message);
        }
    }
    let size: usize = annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
    if size > TOTAL_SIZE {
        errors.too_long(path, TOTAL_SIZE);
    }
}
