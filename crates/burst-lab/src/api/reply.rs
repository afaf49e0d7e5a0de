//! The reply to a request, as a value.

use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};

use super::watch::Watch;

/// The bytes that the server sends, and how the connection ends.
#[derive(Debug)]
pub enum Reply {
    /// A complete response.
    Response(Response<Bytes>),
    /// A watch: its head at once, its events when they happen.
    Watch(Box<Watch>),
    /// The head and half of the body, then nothing; the connection stays open.
    Stall(Response<Bytes>),
    /// The head at once, and the body in small parts over this time.
    Trickle(Response<Bytes>, Duration),
    /// Nothing; the connection stays open.
    Hang,
    /// The connection is reset at once.
    Reset,
    /// The connection is reset after the head and half of the body.
    ResetMidway(Response<Bytes>),
}

impl Reply {
    /// The status code, if one is sent.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Reply::Response(response) | Reply::Stall(response) | Reply::ResetMidway(response) => {
                Some(response.status())
            }
            Reply::Trickle(response, _) => Some(response.status()),
            Reply::Watch(_) => Some(StatusCode::OK),
            Reply::Hang | Reply::Reset => None,
        }
    }
}
