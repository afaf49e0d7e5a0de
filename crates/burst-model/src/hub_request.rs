//! The request of a spoke to its hub. The client makes it, and the leader's effects carry it to the shell.

use std::time::Duration;

/// A request to the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubRequest {
    /// Path and query.
    pub path: String,
    /// `if-none-match`.
    pub if_none_match: Option<String>,
    /// How long the hub may hold the response back until something changes. Zero if it answers at once.
    pub wait: Duration,
}
