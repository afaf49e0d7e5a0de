//! Names of container resources, as in
//! <https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/core/v1/validation/validation.go>.

use super::content;
use crate::field_error::Errors;
use crate::field_path::FieldPath;

const CONTAINER: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// Other names that a quota may have.
const QUOTA: [&str; 17] = [
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
];

pub(super) fn container_resource(name: &str, path: FieldPath<'_>, errors: &mut Errors) {
    let malformed = content::label_key(name);
    let well_formed = malformed.is_empty();
    for message in malformed {
        errors.invalid(path, name, message);
    }
    let huge_pages = name.starts_with("hugepages-");
    let for_containers = CONTAINER.contains(&name) || huge_pages;
    let standard = for_containers || QUOTA.contains(&name) || name.starts_with("requests.hugepages-");
    if name.contains('/') {
        if !is_native(name) && !is_extended(name) {
            errors.invalid(path, name, "doesn't follow extended resource name standard");
        }
        return;
    }
    if well_formed && !standard {
        errors.invalid(path, name, "must be a standard resource type or fully qualified");
    }
    if !for_containers {
        errors.invalid(path, name, "must be a standard resource for containers");
    }
}

fn is_native(name: &str) -> bool {
    name.contains("kubernetes.io/")
}

/// Must stay a qualified name when a quota puts `requests.` in front.
fn is_extended(name: &str) -> bool {
    !name.starts_with("requests.") && content::label_key(&format!("requests.{name}")).is_empty()
}
