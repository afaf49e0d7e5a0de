//! Errors instead of objects, and their responses.

use bytes::Bytes;
use http::{Response, StatusCode};

use super::response;
use super::status::Status;

/// Most errors are a `Status`; two are plain text, as on a real server.
pub(super) enum ApiError {
    Status(Status),
    /// The path belongs to no served group.
    UnknownPath,
    /// Refused by priority and fairness.
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
