//! The rules every object's metadata obeys, as in
//! <https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/api/validation/objectmeta.go>.
//!
//! `managedFields` are not checked: the API server writes its own before it validates.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{annotations, content, owner};
use crate::field_error::Errors;
use crate::field_path::FieldPath;

pub(super) fn validate(metadata: &ObjectMeta, path: &FieldPath<'_>, errors: &mut Errors) {
    name(metadata, path, errors);
    namespace(metadata, path, errors);
    if let Some(generation) = metadata.generation.filter(|generation| *generation < 0) {
        errors.invalid(
            path.field("generation"),
            generation,
            "must be greater than or equal to 0",
        );
    }
    labels(metadata.labels.iter().flatten(), path.field("labels"), errors);
    annotations::validate(
        metadata.annotations.as_ref().unwrap_or(&BTreeMap::new()),
        path.field("annotations"),
        errors,
    );
    owner::validate(
        metadata.owner_references.as_deref().unwrap_or_default(),
        path.field("ownerReferences"),
        errors,
    );
    finalizers(
        metadata.finalizers.as_deref().unwrap_or_default(),
        path.field("finalizers"),
        errors,
    );
}

/// The finalizers that need no prefix.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// Bytes of `generateName` that are used in the name; five more follow.
const LONGEST_PREFIX: usize = 58;

/// A name or a prefix for one. The API server reports a bad prefix twice, because the name made from it is bad, too.
fn name(metadata: &ObjectMeta, path: &FieldPath<'_>, errors: &mut Errors) {
    let name = metadata.name.as_deref().unwrap_or_default();
    let prefix = metadata.generate_name.as_deref().unwrap_or_default();
    if !prefix.is_empty() {
        for message in content::dns_subdomain(&without_trailing_dash(prefix)) {
            errors.invalid(path.field("generateName"), prefix, message);
        }
    }
    let name = if name.is_empty() {
        generated(prefix)
    } else {
        name.to_owned()
    };
    if name.is_empty() {
        errors.required(path.field("name"), "name or generateName is required");
        return;
    }
    for message in content::dns_subdomain(&name) {
        errors.invalid(path.field("name"), &name, message);
    }
}

/// A generated name, with `x` for the random letters.
fn generated(prefix: &str) -> String {
    if prefix.is_empty() {
        return String::new();
    }
    let end = prefix
        .char_indices()
        .map(|(start, c)| start + c.len_utf8())
        .take_while(|end| *end <= LONGEST_PREFIX)
        .last();
    format!("{}xxxxx", prefix.get(..end.unwrap_or(0)).unwrap_or_default())
}

/// A prefix may end in a dash; Go replaces the last two characters by a letter.
fn without_trailing_dash(prefix: &str) -> String {
    match prefix.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let mut masked = rest.to_owned();
            masked.pop();
            masked + "a"
        }
        _ => prefix.to_owned(),
    }
}

fn namespace(metadata: &ObjectMeta, path: &FieldPath<'_>, errors: &mut Errors) {
    if let Some(namespace) = metadata.namespace.as_deref().filter(|namespace| !namespace.is_empty()) {
        for message in content::dns_label(namespace) {
            errors.invalid(path.field("namespace"), namespace, message);
        }
    }
}

fn labels<'a>(labels: impl Iterator<Item = (&'a String, &'a String)>, path: FieldPath<'_>, errors: &mut Errors) {
    for (key, value) in labels {
        for message in content::label_key(key) {
            errors.invalid(path, key, message);
        }
        for message in content::label_value(value) {
            errors.invalid(path, value, message);
        }
    }
}

fn finalizers(finalizers: &[String], path: FieldPath<'_>, errors: &mut Errors) {
    for finalizer in finalizers {
        for message in content::label_key(finalizer) {
            errors.invalid(path, finalizer, message);
        }
    }
    for (index, finalizer) in finalizers.iter().enumerate() {
        if !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer.as_str()) {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            errors.invalid(path.item(index), finalizer, detail);
        }
    }
    let has = |name| finalizers.iter().any(|finalizer| finalizer == name);
    if has("orphan") && has("foregroundDeletion") {
        errors.invalid(
            path,
            finalizers,
            "finalizer orphan and foregroundDeletion cannot be both set",
        );
    }
}
