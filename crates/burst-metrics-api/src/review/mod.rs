//! Asks the API server once more whether a user may send a request, with a SubjectAccessReview.
//!
//! [`AccessReview`] is the review of one request. [`Authorizer`] keeps verdicts for a while, and lets requests with the same
//! review wait for one response. The shell sends the reviews.
//! <https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/subject-access-review-v1/>

mod attributes;
mod authorizer;
mod review_cache;
mod verdict;

pub use authorizer::{Authorizer, PendingGuard, ReviewDecision, ReviewedRequest};
pub use review_cache::ReviewResult;
pub use verdict::{ReviewError, ReviewVerdict};

use crate::encoding::Encoding;
use crate::request::MetricsRequest;
use crate::status::StatusError;
use crate::user_info::RequestUser;
use attributes::{AuthorizationAttributes, NonResourceAttributes, ResourceAttributes};
use burst_model::serve::LocalReply;
use serde::Serialize;
use std::collections::BTreeMap;

/// The path to which a review is posted.
pub const PATH: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// The review of a request: its user, and what the user wants to do.
#[derive(Clone, Debug)]
pub struct AccessReview<'a> {
    user: &'a RequestUser,
    attributes: AuthorizationAttributes<'a>,
    /// The format of a refusal.
    encoding: Encoding,
}

impl<'a> AccessReview<'a> {
    /// The review of a request that was parsed for SubjectAccessReviews.
    #[must_use]
    pub fn of(request: &'a MetricsRequest) -> Self {
        Self {
            user: &request.user,
            attributes: AuthorizationAttributes::of(request),
            encoding: request.accept.error_encoding(),
        }
    }

    /// Returns whether the request is allowed without a review. Like every API server that delegates authorization, this
    /// one allows everything to `system:masters`, and the health of the server to every user.
    #[must_use]
    pub fn is_exempt(&self) -> bool {
        self.user.is_master() || self.attributes.is_health()
    }

    /// The review as JSON. Equal users and attributes give equal text.
    #[must_use]
    pub fn to_json(&self) -> String {
        let (resource_attributes, non_resource_attributes) = match &self.attributes {
            AuthorizationAttributes::Resource(attributes) => (Some(attributes), None),
            AuthorizationAttributes::NonResource(attributes) => (None, Some(attributes)),
        };
        let review = SubjectAccessReview {
            api_version: "authorization.k8s.io/v1",
            kind: "SubjectAccessReview",
            spec: SubjectAccessReviewSpec {
                user: self.user.name(),
                groups: self.user.effective_groups(),
                extra: &self.user.extra,
                resource_attributes,
                non_resource_attributes,
            },
        };
        // Serializing strings and maps with string keys cannot fail. The API server would refuse an empty review.
        serde_json::to_string(&review).unwrap_or_default()
    }

    /// The answer to a user without permission, with the message of Kubernetes.
    #[must_use]
    pub fn forbidden(&self, reason: &str) -> LocalReply {
        let mut message = self.attributes.forbidden_message(self.user.name());
        if !reason.is_empty() {
            message.extend([": ", reason]);
        }
        let reply = StatusError::forbidden(message, self.attributes.details()).to_reply(self.encoding);
        reply.with("x-content-type-options", "nosniff")
    }

    /// The answer to a request whose review failed.
    fn failed(&self, error: &ReviewError) -> LocalReply {
        StatusError::internal(format!("the request could not be authorized: {error}")).to_reply(self.encoding)
    }
}

/// The answer to a request if too many requests wait for reviews.
#[must_use]
pub fn too_many_pending() -> LocalReply {
    StatusError::too_many_requests("too many requests wait for a SubjectAccessReview: retry in a second")
        .to_reply(Encoding::Json)
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
    groups: Vec<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    extra: &'a BTreeMap<String, Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_attributes: Option<&'a ResourceAttributes<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    non_resource_attributes: Option<&'a NonResourceAttributes<'a>>,
}

#[cfg(test)]
mod tests;
