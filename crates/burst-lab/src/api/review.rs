//! SubjectAccessReviews, decided by the rules of the lab.
//! <https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/subject-access-review-v1/>

use serde::Deserialize;
use serde_json::{Value, json};

use super::access::Access;
use super::path::ResourcePath;
use super::status::Status;

#[derive(Deserialize)]
struct Review {
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    user: String,
    #[serde(default)]
    groups: Vec<String>,
    #[serde(default)]
    resource_attributes: Option<Attributes>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Attributes {
    verb: String,
    group: String,
    version: String,
    resource: String,
    subresource: String,
    name: String,
    namespace: String,
}

/// Returns whether the path is that of SubjectAccessReviews.
pub(super) fn is_subject_access_review(path: &ResourcePath<'_>) -> bool {
    (path.group, path.plural) == ("authorization.k8s.io", "subjectaccessreviews")
}

/// Returns the review with its status. A review without resource attributes is allowed.
pub(super) fn evaluate(access: &Access, body: &[u8]) -> Result<Value, Status> {
    let bad = |error: serde_json::Error| Status::bad_request(error.to_string());
    let Review { spec } = serde_json::from_slice(body).map_err(bad)?;
    let mut review: Value = serde_json::from_slice(body).map_err(bad)?;
    let resource = spec.resource_attributes.as_ref().map(Attributes::path);
    let verb = spec
        .resource_attributes
        .as_ref()
        .map_or("", |attributes| &attributes.verb);
    let subjects = [&[spec.user][..], &spec.groups].concat();
    let allowed = resource.is_none_or(|path| access.allows_any(&subjects, verb, &path));
    let reason = if allowed { "lab: allowed" } else { "" };
    review["status"] = json!({ "allowed": allowed, "reason": reason });
    Ok(review)
}

impl Attributes {
    fn path(&self) -> ResourcePath<'_> {
        fn non_empty(text: &str) -> Option<&str> {
            (!text.is_empty()).then_some(text)
        }
        ResourcePath {
            group: &self.group,
            version: &self.version,
            plural: &self.resource,
            namespace: non_empty(&self.namespace),
            name: non_empty(&self.name),
            subresource: non_empty(&self.subresource),
        }
    }
}
