//! References to other objects: the scale target, and the object a metric describes.

use k8s_openapi::api::autoscaling::v2::CrossVersionObjectReference;

use super::content;
use crate::field_error::Errors;
use crate::field_path::FieldPath;
use crate::options::Options;

/// The core group has one scalable kind, so only it may go without a group.
const SCALABLE_CORE_KIND: &str = "ReplicationController";

pub(super) fn scale_target(
    reference: &CrossVersionObjectReference,
    path: &FieldPath<'_>,
    options: Options,
    errors: &mut Errors,
) {
    names(reference, path, errors);
    if options.checks_api_versions() {
        api_version(reference, path, reference.kind == SCALABLE_CORE_KIND, errors);
    }
}

pub(super) fn described_object(
    reference: &CrossVersionObjectReference,
    path: &FieldPath<'_>,
    options: Options,
    errors: &mut Errors,
) {
    names(reference, path, errors);
    if options.checks_api_versions() {
        api_version(reference, path, true, errors);
    }
}

fn names(reference: &CrossVersionObjectReference, path: &FieldPath<'_>, errors: &mut Errors) {
    segment(&reference.kind, path.field("kind"), errors);
    segment(&reference.name, path.field("name"), errors);
}

fn api_version(reference: &CrossVersionObjectReference, path: &FieldPath<'_>, core_group: bool, errors: &mut Errors) {
    let path = path.field("apiVersion");
    let api_version = reference.api_version.as_deref().unwrap_or_default();
    match group_version(api_version) {
        None => errors.invalid(
            path,
            api_version,
            format!("unexpected GroupVersion string: {api_version}"),
        ),
        Some(("", _)) if !core_group => errors.invalid(path, api_version, "apiVersion must specify API group"),
        Some(_) => {}
    }
}

fn segment(name: &str, path: FieldPath<'_>, errors: &mut Errors) {
    if name.is_empty() {
        errors.required(path, "");
    }
    for message in content::path_segment(name) {
        errors.invalid(path, name, message);
    }
}

/// Group and version of an `apiVersion`, each perhaps empty; `None` if it has more than one slash.
pub(super) fn group_version(api_version: &str) -> Option<(&str, &str)> {
    match api_version.split_once('/') {
        None => Some(("", api_version)),
        Some((_, version)) if version.contains('/') => None,
        Some(pair) => Some(pair),
    }
}
