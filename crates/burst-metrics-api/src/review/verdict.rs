//! Reads the API server's response to a SubjectAccessReview.

use burst_kube::json;
use burst_model::printable::printable;
use serde::Deserialize;

/// In bytes. The reason becomes part of the answer and is kept with the verdict.
const MAX_REASON: usize = 1024;

/// Whether a user has permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReviewVerdict {
    /// The user has permission.
    Allowed,
    /// The user has no permission, for this reason; the reason may be empty.
    Denied(String),
}

/// Why a review has no verdict. The request is refused, and the next one sends a new review.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReviewError {
    /// The review could not be sent.
    #[error("{0}")]
    NotSent(String),
    /// No complete response arrived in time.
    #[error("the API server gave no answer")]
    NoAnswer,
    /// The response has an error status: the server has a problem, or does not let the proxy create reviews.
    #[error("the API server answered {0}")]
    Status(u16),
    /// The response is not a review.
    #[error("the answer of the API server is not a SubjectAccessReview")]
    Malformed,
    /// The response is both allowed and denied.
    #[error("the API server both allowed and denied it")]
    Contradiction,
}

#[derive(Deserialize)]
struct ReviewResponse {
    kind: String,
    status: ReviewStatus,
}

#[derive(Deserialize)]
struct ReviewStatus {
    allowed: bool,
    #[serde(default)]
    denied: bool,
    #[serde(default)]
    reason: String,
}

/// Reads the response to a review; a `status` of `None` stands for no response.
///
/// # Errors
/// The response is not a verdict.
pub(super) fn read_verdict(status: Option<u16>, body: &[u8]) -> Result<ReviewVerdict, ReviewError> {
    match status {
        None => return Err(ReviewError::NoAnswer),
        Some(200..=299) => {}
        Some(other) => return Err(ReviewError::Status(other)),
    }
    let review: ReviewResponse = json::read(body).map_err(|_| ReviewError::Malformed)?;
    if review.kind != "SubjectAccessReview" {
        return Err(ReviewError::Malformed);
    }
    match review.status {
        ReviewStatus {
            allowed: true,
            denied: true,
            ..
        } => Err(ReviewError::Contradiction),
        ReviewStatus { allowed: true, .. } => Ok(ReviewVerdict::Allowed),
        ReviewStatus { reason, .. } => Ok(ReviewVerdict::Denied(printable(reason, MAX_REASON))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn review(status: &str) -> Result<ReviewVerdict, ReviewError> {
        let body =
            format!(r#"{{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{status}}}"#);
        read_verdict(Some(201), body.as_bytes())
    }

    #[test]
    fn only_an_allowed_status_allows() {
        let denied = |reason: &str| Ok(ReviewVerdict::Denied(reason.into()));
        for (status, verdict) in [
            (
                r#"{"allowed":true,"reason":"RBAC: allowed by …"}"#,
                Ok(ReviewVerdict::Allowed),
            ),
            (r#"{"allowed":false}"#, denied("")),
            (r#"{"allowed":false,"denied":true,"reason":"no"}"#, denied("no")),
            (r#"{"allowed":false,"evaluationError":"role not found"}"#, denied("")),
            (r#"{"allowed":true,"denied":true}"#, Err(ReviewError::Contradiction)),
            (r#"{}"#, Err(ReviewError::Malformed)),
            (r#"{"allowed":"true"}"#, Err(ReviewError::Malformed)),
            ("null", Err(ReviewError::Malformed)),
        ] {
            assert_eq!(review(status), verdict, "{status}");
        }
    }

    #[test]
    fn any_other_response_is_an_error() {
        let allowed = br#"{"kind":"SubjectAccessReview","status":{"allowed":true}}"#;
        for (status, body, why) in [
            (None, &b""[..], ReviewError::NoAnswer),
            (Some(503), allowed, ReviewError::Status(503)),
            (Some(403), allowed, ReviewError::Status(403)),
            (Some(302), allowed, ReviewError::Status(302)),
            (Some(200), b"<html>", ReviewError::Malformed),
            (Some(201), &allowed[..40], ReviewError::Malformed),
            (
                Some(200),
                br#"{"kind":"Status","status":{"allowed":true}}"#,
                ReviewError::Malformed,
            ),
        ] {
            assert_eq!(read_verdict(status, body), Err(why), "{}", body.escape_ascii());
        }
        assert_eq!(read_verdict(Some(201), allowed), Ok(ReviewVerdict::Allowed));
    }

    proptest! {
        #[test]
        fn arbitrary_responses_do_not_allow(body in proptest::collection::vec(any::<u8>(), 0..128)) {
            prop_assert_ne!(read_verdict(Some(201), &body), Ok(ReviewVerdict::Allowed));
        }
    }
}
