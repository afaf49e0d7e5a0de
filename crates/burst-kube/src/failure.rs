//! Why a request to the Kubernetes API failed, and what an operator can do about it.

use crate::json;
use crate::resource::{Source, Verb};
use burst_printable::{LONGEST_QUOTE, printable};
use serde::Deserialize;
use std::fmt;
use std::time::Duration;

/// The response to a callout, as the host passes it on.
#[derive(Clone, Copy, Debug)]
pub struct ApiResponse<'a> {
    /// `:status`; `None` if the callout ended without headers.
    pub status: Option<u16>,
    /// `content-type`.
    pub content_type: Option<&'a [u8]>,
    /// `retry-after`.
    pub retry_after: Option<&'a [u8]>,
    /// The whole body.
    pub body: &'a [u8],
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Envoy did not send the callout: the Envoy cluster does not exist, or has no hosts yet.
    #[error("the request was not sent: {0}")]
    NotSent(String),
    /// The response did not come by a stream, and must.
    #[error("the answer came in one piece, and `sync.mode` is `stream`")]
    NotStreamed,
    /// Envoy could not reach the API server: refused, no route, or the TLS handshake failed.
    #[error("the Kubernetes API cannot be reached: {0}")]
    Unreachable(String),
    /// There was no response within the callout's timeout.
    #[error("the Kubernetes API did not answer in time")]
    Timeout,
    /// The response was cut off, or is larger than the buffer of a callout (32 MiB by default).
    #[error("the answer was cut off, or is larger than Envoy buffers")]
    Disconnected,
    /// 401.
    #[error("401 Unauthorized: {0}")]
    Unauthorized(String),
    /// 403.
    #[error("403 Forbidden: {0}")]
    Forbidden(String),
    /// 404.
    #[error("404 Not Found: {0}")]
    NotFound(String),
    /// 410: the `continue` token or the resource version is too old.
    #[error("410 Gone: {0}")]
    Expired(String),
    /// 429.
    #[error("429 Too Many Requests")]
    Throttled {
        /// `Retry-After`, if the server sent it.
        retry_after: Option<Duration>,
    },
    /// 5xx from the API server itself.
    #[error("{status}: {message}")]
    Server {
        /// The status code.
        status: u16,
        /// The server's message.
        message: String,
        /// `Retry-After`, if the server sent it.
        retry_after: Option<Duration>,
    },
    /// A status that the API server does not send for a LIST or WATCH.
    #[error("unexpected status {0}")]
    Unexpected(u16),
    /// The body is not JSON, or the JSON was cut off.
    #[error("the answer is not JSON as the API has it: {0}")]
    Malformed(String),
    /// The list has more pages than any real cluster, or a page refers to itself as the next one.
    #[error("the list does not end: its page {0} leads to another one")]
    EndlessList(u32),
    /// The body has the wrong kind.
    #[error("the answer is of kind {found:?}, not {expected:?}")]
    WrongKind {
        /// The kind of the body.
        found: String,
        /// The kind that was requested.
        expected: String,
    },
}

impl Failure {
    /// Creates a failure for a body that could not be parsed. The message is shortened, because the error may quote the
    /// whole body.
    pub fn malformed(error: impl fmt::Display) -> Self {
        Self::Malformed(printable(error, LONGEST_QUOTE))
    }

    /// Returns how long the server asks clients to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Throttled { retry_after } | Self::Server { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Returns whether the whole server is unavailable, not only for this request.
    #[must_use]
    pub fn is_server_unavailable(&self) -> bool {
        matches!(
            self,
            Self::NotSent(_)
                | Self::NotStreamed
                | Self::Unreachable(_)
                | Self::Timeout
                | Self::Throttled { .. }
                | Self::Server { .. }
        )
    }

    /// Returns whether the API server refuses this list, or does not know it.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Forbidden(_) | Self::NotFound(_))
    }

    /// Returns what an operator can do about the failure.
    #[must_use]
    pub fn advice(&self, source: &Source, verb: Verb) -> String {
        match self {
            Self::NotSent(_) => "check that `cluster` names an Envoy cluster that has a host".into(),
            Self::NotStreamed => "make the filter an upstream filter of the cluster".into(),
            Self::Unreachable(_) => "check the cluster's address, its CA and the subject name it expects".into(),
            Self::Timeout => "check the API server's load, or raise `request_timeout`".into(),
            Self::Disconnected if verb == Verb::Watch => {
                "check that nothing cuts long answers off; a shorter `sync.window` makes them smaller".into()
            }
            Self::Disconnected => "smaller pages are tried; a smaller `page_size` saves that".into(),
            Self::Unauthorized(_) => "check the token that Envoy puts on the callout".into(),
            Self::Forbidden(_) => forbidden_advice(source, verb),
            Self::NotFound(_) => format!("check that the cluster serves {} {}", source, source.resource.version),
            Self::Expired(_) => "the list is read again from its start".into(),
            Self::Throttled { .. } | Self::Server { .. } => "asking again later".into(),
            Self::Unexpected(_) | Self::Malformed(_) | Self::EndlessList(_) | Self::WrongKind { .. } => {
                "check that `cluster` is the Kubernetes API and nothing stands in between".into()
            }
        }
    }
}

fn forbidden_advice(source: &Source, verb: Verb) -> String {
    let scope = match &source.namespace {
        Some(namespace) => format!("a Role in namespace {namespace}"),
        None => "a ClusterRole".into(),
    };
    format!(
        "give the proxy's ServiceAccount {scope} with the verb {verb} on {}",
        source.resource
    )
}

/// Returns the failure for a status. `is_from_api_server` is false if Envoy generated the response.
#[must_use]
pub fn failure_from_status(status: u16, response: ApiResponse<'_>, is_from_api_server: bool) -> Failure {
    let message = status_message(response.body);
    let retry_after = response.retry_after.and_then(parse_retry_after);
    match status {
        401 => Failure::Unauthorized(message),
        403 => Failure::Forbidden(message),
        404 => Failure::NotFound(message),
        410 => Failure::Expired(message),
        429 => Failure::Throttled { retry_after },
        504 if !is_from_api_server => Failure::Timeout,
        502 | 503 if !is_from_api_server => Failure::Unreachable(message),
        500..=599 => Failure::Server {
            status,
            message,
            retry_after,
        },
        other => Failure::Unexpected(other),
    }
}

/// Returns the failure in a `metav1.Status` within a successful response.
pub(super) fn failure_from_event(code: u16, status: &[u8]) -> Failure {
    let response = ApiResponse {
        status: Some(code),
        content_type: Some(b"application/json"),
        retry_after: None,
        body: status,
    };
    failure_from_status(code, response, true)
}

fn parse_retry_after(value: &[u8]) -> Option<Duration> {
    std::str::from_utf8(value)
        .ok()?
        .trim()
        .parse()
        .ok()
        .map(Duration::from_secs)
}

/// Returns the message of a `metav1.Status`, or else the beginning of the body, escaped and shortened for the log.
fn status_message(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct StatusMessage {
        message: String,
    }
    let text = match json::read::<StatusMessage>(body) {
        Ok(status) => status.message,
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    };
    printable(text.trim(), LONGEST_QUOTE)
}
