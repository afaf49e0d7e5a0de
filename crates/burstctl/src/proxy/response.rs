//! Responses: those of the API server, and a Kubernetes `Status` if the proxy itself responds.

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, RETRY_AFTER, WARNING};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::{Either, Full};
use kube::client::Body;
use serde_json::json;

use super::allowlist::RequestDenied;

/// A response with the API server's body, or with the proxy's own.
pub(super) type ProxyResponse = Response<Either<Body, Full<Bytes>>>;

/// The headers that a client of the Kubernetes API uses. The proxy drops all others.
const FORWARDED_HEADERS: [HeaderName; 5] = [CONTENT_TYPE, CONTENT_ENCODING, CONTENT_LENGTH, RETRY_AFTER, WARNING];

/// Forwards a response of the API server, with its status and body unchanged.
pub(super) fn forwarded(response: Response<Body>) -> ProxyResponse {
    let (head, body) = response.into_parts();
    let mut reply = Response::new(Either::Left(body));
    *reply.status_mut() = head.status;
    for name in FORWARDED_HEADERS {
        for value in head.headers.get_all(&name) {
            reply.headers_mut().append(name.clone(), value.clone());
        }
    }
    reply
}

pub(super) fn denied(denied: &RequestDenied) -> ProxyResponse {
    let reason = match denied {
        RequestDenied::NotGet(_) => "MethodNotAllowed",
        RequestDenied::ForeignHost(_) | RequestDenied::NotAList { .. } => "Forbidden",
    };
    let mut reply = status(denied.status(), reason, &denied.to_string());
    if matches!(denied, RequestDenied::NotGet(_)) {
        reply.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
    }
    reply
}

/// The response if the API server cannot be reached, or if there are no credentials.
pub(super) fn bad_gateway(reason: &str) -> ProxyResponse {
    status(StatusCode::BAD_GATEWAY, "ServiceUnavailable", reason)
}

/// <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/>
fn status(code: StatusCode, reason: &str, message: &str) -> ProxyResponse {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": format!("burstctl proxy: {message}"), "reason": reason, "code": code.as_u16(),
    });
    let mut reply = Response::new(Either::Right(Full::from(format!("{status}\n"))));
    *reply.status_mut() = code;
    let json = HeaderValue::from_static("application/json");
    reply.headers_mut().insert(CONTENT_TYPE, json);
    reply
}
