//! Owner references: complete, and at most one controller.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::reference::group_version;
use crate::field_error::Errors;
use crate::field_path::FieldPath;

pub(super) fn validate(owners: &[OwnerReference], path: FieldPath<'_>, errors: &mut Errors) {
    let mut controller: Option<String> = None;
    for owner in owners {
        one(owner, path, errors);
        if owner.controller != Some(true) {
            continue;
        }
        let name = format!("{}/{}", owner.kind, owner.name);
        if let Some(first) = &controller {
            let detail = format!(
                "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {name}"
            );
            errors.invalid(path, &name, detail);
        } else {
            controller = Some(name);
        }
    }
}

fn one(owner: &OwnerReference, path: FieldPath<'_>, errors: &mut Errors) {
    let (group, version) = group_version(&owner.api_version).unwrap_or_default();
    if version.is_empty() {
        errors.invalid(
            path.field("apiVersion"),
            &owner.api_version,
            "version must not be empty",
        );
    }
    for (name, value) in [("kind", &owner.kind), ("name", &owner.name), ("uid", &owner.uid)] {
        if value.is_empty() {
            errors.invalid(path.field(name), value, "must not be empty");
        }
    }
    if (group, version, owner.kind.as_str()) == ("", "v1", "Event") {
        errors.invalid(path, &owner.kind, "/v1, Kind=Event is disallowed from being an owner");
    }
}
