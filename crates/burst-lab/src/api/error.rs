//! Why a request gets no objects, and the answer that says so.

use bytes::Bytes;
use http::{Response, StatusCode};

use super::response;
use super::status::Status;

/// Most refusals are a `Status`; two are plain text on a real server as well.
pub(super) enum ApiError {
    Status(Status),
    /// The path lies outside every group that is served.
    UnknownPath,
    /// Priority and fairness let nothing through.
    TooManyRequests {
        retry_after: u32,
    },
}

impl From<Status> for ApiError {
    fn from(status: Status) -> Self {
        ApiError::Status(status)
    }
}

impl ApiError {
    pub(super) fn response(&self, pretty: bool) -> Response<Bytes> {
        match self {
            ApiError::Status(status) => response::json(status.code(), status, pretty),
            ApiError::UnknownPath => response::text(StatusCode::NOT_FOUND, "404 page not found\n"),
            ApiError::TooManyRequests { retry_after } => response::too_many_requests(*retry_after),
        }
    }
}
