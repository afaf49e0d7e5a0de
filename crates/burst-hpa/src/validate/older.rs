//! Messages that differ in older Kubernetes versions.

use crate::field_error::FieldError;
use crate::options::Options;

/// The current message, and the one before qualified names were called label keys.
const KEY_MESSAGES: [[&str; 2]; 2] = [
    ["a valid label key must", "a qualified name must"],
    ["must be no more than 63 bytes", "must be no more than 63 characters"],
];

/// Rewrites the errors of the newest version to those of the version in the options.
pub(super) fn reword(error: &mut FieldError, options: Options) {
    if !options.has_label_key_messages() {
        for [now, before] in KEY_MESSAGES {
            error.detail = error.detail.replace(now, before);
        }
    }
    if options.names_empty_owner_field() && error.detail == "must not be empty" {
        let field = error.field.strip_prefix("metadata.ownerReferences.");
        error.detail = field.map_or_else(|| error.detail.clone(), |field| format!("{field} must not be empty"));
    }
}
