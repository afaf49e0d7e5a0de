//! What the API server answers to a question.

use crate::json;
use crate::printable::printable;
use serde::Deserialize;

/// Bytes of a reason: it goes into the refusal, and is kept with the verdict.
const MOST_REASON: usize = 1024;

/// Whether a user may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The user may.
    Allowed,
    /// The user may not, or nobody said that the user may; with a reason, or none.
    Denied(String),
}

/// Why there is no verdict. It is no permission, and is not kept: the next request asks again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreviewed {
    /// The question could not be sent.
    #[error("{0}")]
    NotSent(String),
    /// No answer, or not the whole of one, in time.
    #[error("the API server gave no answer")]
    NoAnswer,
    /// Anything but a success: of a server in trouble, or one that does not let the proxy ask.
    #[error("the API server answered {0}")]
    Status(u16),
    /// Something else than a review.
    #[error("the API server answered with something else than a SubjectAccessReview")]
    Malformed,
    /// Allowed and denied at once.
    #[error("the API server both allowed and denied it")]
    Contradiction,
}

#[derive(Deserialize)]
struct Review {
    kind: String,
    status: Status,
}

#[derive(Deserialize)]
struct Status {
    allowed: bool,
    #[serde(default)]
    denied: bool,
    #[serde(default)]
    reason: String,
}

/// Reads the answer to a question.
///
/// # Errors
/// Where it is none.
pub fn read(status: Option<u16>, body: &[u8]) -> Result<Verdict, Unreviewed> {
    match status {
        None => return Err(Unreviewed::NoAnswer),
        Some(200..=299) => {}
        Some(other) => return Err(Unreviewed::Status(other)),
    }
    let review: Review = json::from_slice(body).map_err(|_| Unreviewed::Malformed)?;
    if review.kind != "SubjectAccessReview" {
        return Err(Unreviewed::Malformed);
    }
    match review.status {
        Status {
            allowed: true,
            denied: true,
            ..
        } => Err(Unreviewed::Contradiction),
        Status { allowed: true, .. } => Ok(Verdict::Allowed),
        Status { reason, .. } => Ok(Verdict::Denied(printable(reason, MOST_REASON))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn review(status: &str) -> Result<Verdict, Unreviewed> {
        let body =
            format!(r#"{{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{status}}}"#);
        read(Some(201), body.as_bytes())
    }

    #[test]
    fn only_what_says_so_is_allowed() {
        let denied = |reason: &str| Ok(Verdict::Denied(reason.into()));
        for (status, verdict) in [
            (
                r#"{"allowed":true,"reason":"RBAC: allowed by …"}"#,
                Ok(Verdict::Allowed),
            ),
            (r#"{"allowed":false}"#, denied("")),
            (r#"{"allowed":false,"denied":true,"reason":"no"}"#, denied("no")),
            (r#"{"allowed":false,"evaluationError":"role not found"}"#, denied("")),
            (r#"{"allowed":true,"denied":true}"#, Err(Unreviewed::Contradiction)),
            (r#"{}"#, Err(Unreviewed::Malformed)),
            (r#"{"allowed":"true"}"#, Err(Unreviewed::Malformed)),
            ("null", Err(Unreviewed::Malformed)),
        ] {
            assert_eq!(review(status), verdict, "{status}");
        }
    }

    #[test]
    fn what_is_no_review_allows_nothing() {
        let allowed = br#"{"kind":"SubjectAccessReview","status":{"allowed":true}}"#;
        for (status, body, why) in [
            (None, &b""[..], Unreviewed::NoAnswer),
            (Some(503), allowed, Unreviewed::Status(503)),
            (Some(403), allowed, Unreviewed::Status(403)),
            (Some(302), allowed, Unreviewed::Status(302)),
            (Some(200), b"<html>", Unreviewed::Malformed),
            (Some(201), &allowed[..40], Unreviewed::Malformed),
            (
                Some(200),
                br#"{"kind":"Status","status":{"allowed":true}}"#,
                Unreviewed::Malformed,
            ),
        ] {
            assert_eq!(read(status, body), Err(why), "{}", body.escape_ascii());
        }
        assert_eq!(read(Some(201), allowed), Ok(Verdict::Allowed));
    }

    proptest! {
        #[test]
        fn arbitrary_answers_are_no_permission(body in proptest::collection::vec(any::<u8>(), 0..128)) {
            prop_assert_ne!(read(Some(201), &body), Ok(Verdict::Allowed));
        }
    }
}
