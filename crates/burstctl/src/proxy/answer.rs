//! Answers: the cluster's own as they come, and a `Status` where there is none.

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, RETRY_AFTER, WARNING};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::{Either, Full};
use kube::client::Body;
use serde_json::json;

use super::allowed::Refusal;

/// The cluster's own bytes, or ours.
pub(super) type Answer = Response<Either<Body, Full<Bytes>>>;

/// What a client of the API goes by. Nothing else of the cluster's concerns it.
const PASSED: [HeaderName; 5] = [CONTENT_TYPE, CONTENT_ENCODING, CONTENT_LENGTH, RETRY_AFTER, WARNING];

/// An answer of the cluster: its status and its body as they are.
pub(super) fn passed(response: Response<Body>) -> Answer {
    let (head, body) = response.into_parts();
    let mut answer = Response::new(Either::Left(body));
    *answer.status_mut() = head.status;
    for name in PASSED {
        for value in head.headers.get_all(&name) {
            answer.headers_mut().append(name.clone(), value.clone());
        }
    }
    answer
}

pub(super) fn refused(refusal: &Refusal) -> Answer {
    let reason = match refusal {
        Refusal::NotGet(_) => "MethodNotAllowed",
        Refusal::ForeignHost(_) | Refusal::NotAList { .. } => "Forbidden",
    };
    let mut answer = status(refusal.status(), reason, &refusal.to_string());
    if matches!(refusal, Refusal::NotGet(_)) {
        answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
    }
    answer
}

/// The cluster gave no answer, or there are no credentials to ask with.
pub(super) fn unanswered(reason: &str) -> Answer {
    status(StatusCode::BAD_GATEWAY, "ServiceUnavailable", reason)
}

/// <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/>
fn status(code: StatusCode, reason: &str, message: &str) -> Answer {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": format!("burstctl proxy: {message}"), "reason": reason, "code": code.as_u16(),
    });
    let mut answer = Response::new(Either::Right(Full::from(format!("{status}\n"))));
    *answer.status_mut() = code;
    let json = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(CONTENT_TYPE, json);
    answer
}
