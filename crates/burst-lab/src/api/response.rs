//! Complete responses: JSON, plain text, and the head of a watch.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use serde::Serialize;

/// A JSON body, compact unless `pretty`.
pub(super) fn json(status: StatusCode, body: &impl Serialize, pretty: bool) -> Response<Bytes> {
    let text = if pretty {
        serde_json::to_vec_pretty(body)
    } else {
        serde_json::to_vec(body)
    };
    with_type(status, "application/json", text.unwrap_or_default().into())
}

/// The head of a watch, and its events so far.
pub(super) fn lines(lines: Bytes) -> Response<Bytes> {
    with_type(StatusCode::OK, "application/json", lines)
}

pub(super) fn text(status: StatusCode, body: &str) -> Response<Bytes> {
    with_type(
        status,
        "text/plain; charset=utf-8",
        Bytes::copy_from_slice(body.as_bytes()),
    )
}

/// 429 as priority and fairness sends it, without a `Status`.
pub(super) fn too_many_requests(retry_after: u32) -> Response<Bytes> {
    let mut response = text(
        StatusCode::TOO_MANY_REQUESTS,
        "Too many requests, please try again later.\n",
    );
    response
        .headers_mut()
        .insert(RETRY_AFTER, HeaderValue::from(retry_after));
    response
}

fn with_type(status: StatusCode, content_type: &'static str, body: Bytes) -> Response<Bytes> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}
