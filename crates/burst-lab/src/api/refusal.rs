//! Why a request gets no objects, and the answer that says so.

use bytes::Bytes;
use http::{Response, StatusCode};

use super::reply;
use super::status::Status;

/// Most refusals are a `Status`; two are plain text on a real server as well.
pub(super) enum Refusal {
    Status(Status),
    /// The path lies outside every group that is served.
    NoSuchPath,
    /// Priority and fairness let nothing through.
    TooManyRequests {
        retry_after: u32,
    },
}

impl From<Status> for Refusal {
    fn from(status: Status) -> Self {
        Refusal::Status(status)
    }
}

impl Refusal {
    pub(super) fn answer(&self, pretty: bool) -> Response<Bytes> {
        match self {
            Refusal::Status(status) => reply::json(status.code(), status, pretty),
            Refusal::NoSuchPath => reply::text(StatusCode::NOT_FOUND, "404 page not found\n"),
            Refusal::TooManyRequests { retry_after } => reply::too_many_requests(*retry_after),
        }
    }
}
