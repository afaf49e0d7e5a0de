//! The outcomes of requests that the stats count.

use crate::failure::Failure;
use serde::{Deserialize, Serialize};

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PollOutcome {
    /// It succeeded.
    Ok,
    /// The callout could not be sent.
    NotSent,
    /// The API server could not be reached.
    Unreachable,
    /// The response did not come in time.
    Timeout,
    /// The response was cut off, or is too large.
    Disconnected,
    /// 401.
    Unauthorized,
    /// 403.
    Forbidden,
    /// 404.
    NotFound,
    /// 410.
    Expired,
    /// 429.
    Throttled,
    /// 5xx.
    ServerError,
    /// A response that no API server sends.
    Malformed,
}

impl PollOutcome {
    /// Every outcome, in the order of the stats table.
    pub const ALL: [Self; 12] = [
        Self::Ok,
        Self::NotSent,
        Self::Unreachable,
        Self::Timeout,
        Self::Disconnected,
        Self::Unauthorized,
        Self::Forbidden,
        Self::NotFound,
        Self::Expired,
        Self::Throttled,
        Self::ServerError,
        Self::Malformed,
    ];

    /// Returns the outcome as it appears in the name of a stat.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NotSent => "not_sent",
            Self::Unreachable => "unreachable",
            Self::Timeout => "timeout",
            Self::Disconnected => "cut",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::Expired => "expired",
            Self::Throttled => "throttled",
            Self::ServerError => "server_error",
            Self::Malformed => "malformed",
        }
    }
}

impl From<&Failure> for PollOutcome {
    fn from(failure: &Failure) -> Self {
        match failure {
            Failure::NotSent(_) | Failure::NotStreamed => Self::NotSent,
            Failure::Unreachable(_) => Self::Unreachable,
            Failure::Timeout => Self::Timeout,
            Failure::Disconnected => Self::Disconnected,
            Failure::Unauthorized(_) => Self::Unauthorized,
            Failure::Forbidden(_) => Self::Forbidden,
            Failure::NotFound(_) => Self::NotFound,
            Failure::Expired(_) => Self::Expired,
            Failure::Throttled { .. } => Self::Throttled,
            Failure::Server { .. } => Self::ServerError,
            Failure::Unexpected(_) | Failure::Malformed(_) | Failure::EndlessList(_) | Failure::WrongKind { .. } => {
                Self::Malformed
            }
        }
    }
}
