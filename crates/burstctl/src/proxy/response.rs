//! Answers: the cluster's own as they come, and a `Status` where there is none.

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, RETRY_AFTER, WARNING};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::{Either, Full};
use kube::client::Body;
use serde_json::json;

use super::allowlist::RequestDenied;

/// The cluster's own bytes, or ours.
pub(super) type ProxyResponse = Response<Either<Body, Full<Bytes>>>;

/// What a client of the API goes by. Nothing else of the cluster's concerns it.
const FORWARDED_HEADERS: [HeaderName; 5] = [CONTENT_TYPE, CONTENT_ENCODING, CONTENT_LENGTH, RETRY_AFTER, WARNING];

/// An answer of the cluster: its status and its body as they are.
pub(super) fn forwarded(response: Response<Body>) -> ProxyResponse {
    let (head, body) = response.into_parts();
    let mut answer = Response::new(Either::Left(body));
    *answer.status_mut() = head.status;
    for name in FORWARDED_HEADERS {
        for value in head.headers.get_all(&name) {
            answer.headers_mut().append(name.clone(), value.clone());
        }
    }
    answer
}

pub(super) fn denied(denied: &RequestDenied) -> ProxyResponse {
    let reason = match denied {
        RequestDenied::NotGet(_) => "MethodNotAllowed",
        RequestDenied::ForeignHost(_) | RequestDenied::NotAList { .. } => "Forbidden",
    };
    let mut answer = status(denied.status(), reason, &denied.to_string());
    if matches!(denied, RequestDenied::NotGet(_)) {
        answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
    }
    answer
}

/// The cluster gave no answer, or there are no credentials to ask with.
pub(super) fn bad_gateway(reason: &str) -> ProxyResponse {
    status(StatusCode::BAD_GATEWAY, "ServiceUnavailable", reason)
}

/// <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/>
fn status(code: StatusCode, reason: &str, message: &str) -> ProxyResponse {
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
