//! What an answer means. Envoy makes up answers of its own (503 for a refused connection, 504 for a timeout, no
//! headers at all for a cut or over-long body), and they must not be taken for the API server's.

use crate::json;
use crate::page::{self, ListPage, ParseGuard};
use crate::resource::{Source, Verb};
use crate::watch::{self, WatchBatch};
use burst_printable::{LONGEST_QUOTE, printable};
use serde::Deserialize;
use std::fmt;
use std::time::Duration;

/// An answer to a callout, as the host hands it over.
#[derive(Clone, Copy, Debug)]
pub struct ApiResponse<'a> {
    /// `:status`; `None` where the callout ended without headers.
    pub status: Option<u16>,
    /// `content-type`.
    pub content_type: Option<&'a [u8]>,
    /// `retry-after`.
    pub retry_after: Option<&'a [u8]>,
    /// The whole body.
    pub body: &'a [u8],
}

/// What a good answer brought.
#[derive(Debug)]
pub enum Payload {
    /// One page of a list.
    Page(ListPage),
    /// What changed within a window.
    Window(WatchBatch),
}

impl Payload {
    /// How many objects and changes it has.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Page(page) => page.objects.len(),
            Self::Window(window) => window.changes.len(),
        }
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Why a request brought nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Envoy did not send the callout: the cluster is not there, or has no hosts yet.
    #[error("the request was not sent: {0}")]
    NotSent(String),
    /// Envoy could not reach the API server: refused, no route, or the TLS handshake failed.
    #[error("the Kubernetes API cannot be reached: {0}")]
    Unreachable(String),
    /// No answer within the callout's timeout.
    #[error("the Kubernetes API did not answer in time")]
    Timeout,
    /// The answer was cut off, or is larger than Envoy buffers for a callout (32 MiB by default).
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
        /// `Retry-After`, where the server gave one.
        retry_after: Option<Duration>,
    },
    /// 5xx by the API server itself.
    #[error("{status}: {message}")]
    Server {
        /// The status code.
        status: u16,
        /// The server's words.
        message: String,
        /// `Retry-After`, where the server gave one.
        retry_after: Option<Duration>,
    },
    /// A status that neither a LIST nor a watch has.
    #[error("unexpected status {0}")]
    Unexpected(u16),
    /// The body is not JSON, or only the beginning of it.
    #[error("the answer is not JSON as the API has it: {0}")]
    Malformed(String),
    /// A list of more pages than any cluster has, or one whose next page is the one that came.
    #[error("the list does not end: its page {0} leads to another one")]
    Endless(u32),
    /// JSON of another kind.
    #[error("the answer is of kind {found:?}, not {wanted:?}")]
    WrongKind {
        /// The kind that came.
        found: String,
        /// The kind that was asked for.
        wanted: String,
    },
}

impl Failure {
    /// JSON that is not what it should be: its error may quote all of it.
    pub fn malformed(error: impl fmt::Display) -> Self {
        Self::Malformed(printable(error, LONGEST_QUOTE))
    }

    /// How long the server wants to be left alone.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Throttled { retry_after } | Self::Server { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Whether the server is away or in trouble, whatever it is asked for.
    #[must_use]
    pub fn is_from_server(&self) -> bool {
        matches!(
            self,
            Self::NotSent(_) | Self::Unreachable(_) | Self::Timeout | Self::Throttled { .. } | Self::Server { .. }
        )
    }

    /// Whether it is the API's word on that one list: it may not be read, or is not there.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Forbidden(_) | Self::NotFound(_))
    }

    /// What an operator can do about it.
    #[must_use]
    pub fn advice(&self, source: &Source, verb: Verb) -> String {
        match self {
            Self::NotSent(_) => "check that `cluster` names an Envoy cluster that has a host".into(),
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
            Self::Unexpected(_) | Self::Malformed(_) | Self::Endless(_) | Self::WrongKind { .. } => {
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

/// Says what the answer to a request means.
///
/// # Errors
/// Anything but a list, or a watch, of the kind that was asked for.
pub fn parse(
    source: &Source,
    verb: Verb,
    response: ApiResponse<'_>,
    progress: &mut dyn ParseGuard,
) -> Result<Payload, Failure> {
    match verb {
        Verb::List => page(source, response, progress).map(Payload::Page),
        Verb::Watch => watch::parse(source, body(response)?, progress).map(Payload::Window),
    }
}

/// Says what the answer to a LIST means.
///
/// # Errors
/// Anything but a list of the kind that was asked for.
pub fn page(source: &Source, response: ApiResponse<'_>, progress: &mut dyn ParseGuard) -> Result<ListPage, Failure> {
    page::parse(source, body(response)?, progress)
}

/// The body of a success.
fn body(response: ApiResponse<'_>) -> Result<&[u8], Failure> {
    match response.status {
        Some(200) => Ok(response.body),
        // Envoy's own words come as text; the API server says its 503 in a JSON Status.
        Some(status) => Err(failure(status, response, is_json(response.content_type))),
        None => Err(Failure::Disconnected),
    }
}

/// What a status means that is no success: `by_server` if the server itself says it, and not Envoy in its place.
#[must_use]
pub fn failure(status: u16, response: ApiResponse<'_>, by_server: bool) -> Failure {
    let message = message(response.body);
    let retry_after = response.retry_after.and_then(seconds);
    match status {
        401 => Failure::Unauthorized(message),
        403 => Failure::Forbidden(message),
        404 => Failure::NotFound(message),
        410 => Failure::Expired(message),
        429 => Failure::Throttled { retry_after },
        504 if !by_server => Failure::Timeout,
        502 | 503 if !by_server => Failure::Unreachable(message),
        500..=599 => Failure::Server {
            status,
            message,
            retry_after,
        },
        other => Failure::Unexpected(other),
    }
}

/// What a `metav1.Status` says that came with success.
pub(super) fn failure_of(code: u16, status: &[u8]) -> Failure {
    let response = ApiResponse {
        status: Some(code),
        content_type: Some(b"application/json"),
        retry_after: None,
        body: status,
    };
    failure(code, response, true)
}

fn is_json(content_type: Option<&[u8]>) -> bool {
    content_type.is_some_and(|value| value.starts_with(b"application/json"))
}

fn seconds(value: &[u8]) -> Option<Duration> {
    std::str::from_utf8(value)
        .ok()?
        .trim()
        .parse()
        .ok()
        .map(Duration::from_secs)
}

/// The message of a `metav1.Status`, or the beginning of the body; fit for a log line either way.
fn message(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Status {
        message: String,
    }
    let text = match json::read::<Status>(body) {
        Ok(status) => status.message,
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    };
    printable(text.trim(), LONGEST_QUOTE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::{ObjectKind, Resource};

    fn hpas() -> Source {
        Source::all_namespaces(ObjectKind::Hpas, Resource::hpas())
    }

    fn failure_of(status: Option<u16>, content_type: &str, body: &str) -> Failure {
        let content_type = Some(content_type.as_bytes());
        let response = ApiResponse {
            status,
            content_type,
            retry_after: Some(b"7"),
            body: body.as_bytes(),
        };
        page(&hpas(), response, &mut ()).unwrap_err()
    }

    #[test]
    fn what_envoy_makes_up_is_not_the_api_servers_word() {
        let refused = "upstream connect error or disconnect/reset before headers. reset reason: connection refused";
        let seven = Some(Duration::from_secs(7));
        for (status, content_type, body, meant) in [
            (None, "", "", Failure::Disconnected),
            (Some(504), "text/plain", "upstream request timeout", Failure::Timeout),
            (Some(503), "text/plain", refused, Failure::Unreachable(refused.into())),
            (
                Some(503),
                "application/json",
                r#"{"kind":"Status","message":"starting"}"#,
                Failure::Server {
                    status: 503,
                    message: "starting".into(),
                    retry_after: seven,
                },
            ),
            (
                Some(429),
                "text/plain",
                "slow down",
                Failure::Throttled { retry_after: seven },
            ),
            (Some(302), "text/html", "", Failure::Unexpected(302)),
        ] {
            assert_eq!(failure_of(status, content_type, body), meant);
        }
    }

    #[test]
    fn a_forbidden_list_names_the_verb_and_the_resource_that_the_role_lacks() {
        let body =
            r#"{"kind":"Status","status":"Failure","message":"horizontalpodautoscalers.autoscaling is forbidden"}"#;
        let failure = failure_of(Some(403), "application/json", body);
        assert_eq!(
            failure.to_string(),
            "403 Forbidden: horizontalpodautoscalers.autoscaling is forbidden"
        );
        assert_eq!(
            failure.advice(&hpas(), Verb::List),
            "give the proxy's ServiceAccount a ClusterRole with the verb list on horizontalpodautoscalers.autoscaling"
        );
    }

    #[test]
    fn a_page_that_is_no_json_is_malformed() {
        for body in ["", "<html>", "{\"kind\":\"HorizontalPodAutoscalerList\",\"items\":[{"] {
            assert!(
                matches!(failure_of(Some(200), "application/json", body), Failure::Malformed(_)),
                "{body}"
            );
        }
    }
}
