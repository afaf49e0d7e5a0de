//! A second look at who may read what: a SubjectAccessReview for a request, as an API server that delegates its
//! authorization asks for one. kube-apiserver's aggregator has asked its own authorizer before.
//!
//! [`AccessReview`] is who asks for what, [`read`] the answer to it, and [`ReviewCache`] keeps answers for a while and has one
//! question asked once at a time. Who sends the question is the caller's affair.
//! <https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/subject-access-review-v1/>

mod attributes;

mod options;
mod review_cache;

mod verdict;

pub use review_cache::{ReviewCache, ReviewResult};
pub use verdict::{ReviewError, ReviewVerdict, read};

use super::path;
use super::status::StatusError;
use crate::user_info::UserInfo;
use attributes::{AuthorizationAttributes, NonResourceAttributes, ResourceAttributes};
use burst_model::view::Answer;
use serde::Serialize;
use std::collections::BTreeMap;

/// Where a question is posted.
pub const PATH: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// Who asks for what.
#[derive(Clone, Debug)]
pub struct AccessReview {
    user: UserInfo,
    attributes: AuthorizationAttributes,
}

impl AccessReview {
    /// Of a request of the filter chain that is for the API server.
    ///
    /// # Errors
    /// The answer, where nobody is named, or the path cannot be read.
    pub fn of<'a>(
        method: &[u8],
        path: &[u8],
        headers: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ) -> Result<Self, Answer> {
        let user = UserInfo::of(headers).ok_or_else(|| StatusError::unauthorized().answer())?;
        let (_, query) = path::split(path).map_err(|refusal| refusal.answer())?;
        let attributes = AuthorizationAttributes::of(method, path, query).map_err(|refusal| refusal.answer())?;
        Ok(Self { user, attributes })
    }

    /// Whether it is allowed without a question, as every API server that delegates does: to `system:masters`, and the
    /// health of the server to anybody with a name.
    #[must_use]
    pub fn is_exempt(&self) -> bool {
        self.user.is_master() || self.attributes.is_health()
    }

    /// The question: the same text for the same user and the same thing.
    #[must_use]
    pub fn question(&self) -> String {
        let UserInfo { name, groups, extra } = &self.user;
        let (resource_attributes, non_resource_attributes) = match &self.attributes {
            AuthorizationAttributes::Resource(resource) => (Some(resource), None),
            AuthorizationAttributes::NonResource(path) => (None, Some(path)),
        };
        let question = SubjectAccessReview {
            api_version: "authorization.k8s.io/v1",
            kind: "SubjectAccessReview",
            spec: SubjectAccessReviewSpec {
                user: name,
                groups,
                extra,
                resource_attributes,
                non_resource_attributes,
            },
        };
        // Nothing in it can fail to be JSON; an empty question would be answered with an error.
        serde_json::to_string(&question).unwrap_or_default()
    }

    /// The answer to who may not, in Kubernetes' words.
    #[must_use]
    pub fn forbidden(&self, reason: &str) -> Answer {
        let mut message = self.attributes.refusal(&self.user.name);
        if !reason.is_empty() {
            message.extend([": ", reason]);
        }
        let answer = StatusError::forbidden(message, self.attributes.details()).answer();
        answer.with("x-content-type-options", "nosniff")
    }

    /// The answer to a request that would be one too many to wait.
    #[must_use]
    pub fn too_many() -> Answer {
        StatusError::too_many("too many requests wait for a SubjectAccessReview: ask again in a second").answer()
    }

    /// The answer where nobody can tell whether one may.
    #[must_use]
    pub fn unreviewed(why: &ReviewError) -> Answer {
        StatusError::internal(format!("the request could not be authorized: {why}")).answer()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SubjectAccessReview<'a> {
    api_version: &'static str,
    kind: &'static str,
    spec: SubjectAccessReviewSpec<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SubjectAccessReviewSpec<'a> {
    user: &'a str,
    groups: &'a [String],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    extra: &'a BTreeMap<String, Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_attributes: Option<&'a ResourceAttributes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    non_resource_attributes: Option<&'a NonResourceAttributes>,
}

#[cfg(test)]
mod tests;
