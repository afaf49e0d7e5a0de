//! The request of a spoke to its hub. The client makes it, and the leader's effects carry it to the shell.

/// A request to the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubRequest {
    /// The path.
    pub path: String,
    /// `if-none-match`.
    pub if_none_match: Option<String>,
}
