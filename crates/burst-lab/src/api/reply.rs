//! What goes out for one request, as a value.

use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};

use super::watch::Watch;

/// What a server does about one request.
#[derive(Debug)]
pub enum Reply {
    /// A whole response.
    Response(Response<Bytes>),
    /// A watch: its head at once, its lines when it ends.
    Watch(Watch),
    /// The head and half of the body of an response, then nothing; the connection stays open.
    Stall(Response<Bytes>),
    /// The head of an response at once, and its body in drops that take so long all together.
    Trickle(Response<Bytes>, Duration),
    /// Nothing; the connection stays open.
    Hang,
    /// The connection is reset at once.
    Reset,
    /// The connection is reset after the head and half of the body.
    ResetMidway(Response<Bytes>),
}

impl Reply {
    /// The status line it sends, if it sends one.
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
