//! Words that Kubernetes has changed since.

use crate::field_error::FieldError;
use crate::options::Options;

/// What is said now, and was said before label keys got their name.
const OF_KEYS: [[&str; 2]; 2] = [
    ["a valid label key must", "a qualified name must"],
    ["must be no more than 63 bytes", "must be no more than 63 characters"],
];

/// Puts what the newest version says as that of the options would.
pub(super) fn reword(error: &mut FieldError, options: Options) {
    if !options.speaks_of_label_keys() {
        for [now, before] in OF_KEYS {
            error.detail = error.detail.replace(now, before);
        }
    }
    if options.names_empty_fields_of_owners() && error.detail == "must not be empty" {
        let field = error.field.strip_prefix("metadata.ownerReferences.");
        error.detail = field.map_or_else(|| error.detail.clone(), |field| format!("{field} must not be empty"));
    }
}
