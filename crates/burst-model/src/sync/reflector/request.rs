//! The requests of a reflector, and when it sends them.

use super::stream::StreamRequest;
use crate::kube::Verb;
use std::time::Duration;

/// How a list is kept up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The time from the start of one list to the start of the next one, while the list is not watched.
    pub interval: Duration,
    /// How long a watch lasts; `None` if the list is not watched.
    pub window: Option<Duration>,
}

/// A request to the API server.
#[derive(Debug, PartialEq, Eq)]
pub struct ApiRequest {
    /// Whether it lists or watches.
    pub verb: Verb,
    /// The path and the query.
    pub path: String,
    /// The `accept` header.
    pub accept: &'static str,
    /// How long the server holds a watch open; zero for a list.
    pub watch_timeout: Duration,
    /// What to send instead if the response can be read as it comes.
    pub stream: Option<StreamRequest>,
    /// Whether it shows if an open stream is alive, and so is not the list's next request.
    pub is_probe: bool,
}
