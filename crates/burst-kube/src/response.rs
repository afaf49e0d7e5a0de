//! Interprets responses. Envoy generates some responses itself: 503 if a connection is refused, 504 after a timeout,
//! and a callout without headers if a body was cut off or is too large. They must not be mistaken for responses of the
//! API server.

pub use crate::failure::{ApiResponse, Failure, failure_from_status};
use crate::item::ParseGuard;
use crate::page::{self, ListPage};
use crate::resource::{Source, Verb};
use crate::watch::{self, WatchBatch};

/// What a successful response contains.
#[derive(Debug)]
pub enum Payload {
    /// One page of a list.
    Page(ListPage),
    /// The changes of a watch.
    WatchBatch(WatchBatch),
}

impl Payload {
    /// Returns the number of objects or changes.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Page(page) => page.objects.len(),
            Self::WatchBatch(window) => window.changes.len(),
        }
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Parses the response to a request.
///
/// # Errors
/// Returns a failure unless it is a list, or a watch, of the kind that was requested.
pub fn parse(
    source: &Source,
    verb: Verb,
    response: ApiResponse<'_>,
    progress: &mut dyn ParseGuard,
) -> Result<Payload, Failure> {
    match verb {
        Verb::List => parse_list(source, response, progress).map(Payload::Page),
        Verb::Watch => watch::parse(source, success_body(response)?, progress).map(Payload::WatchBatch),
    }
}

/// Parses the response to a LIST.
///
/// # Errors
/// Returns a failure unless it is a list of the kind that was requested.
pub fn parse_list(
    source: &Source,
    response: ApiResponse<'_>,
    progress: &mut dyn ParseGuard,
) -> Result<ListPage, Failure> {
    page::parse(source, success_body(response)?, progress)
}

/// Returns the body of a successful response.
///
/// # Errors
/// Returns a failure for any other status than 200.
pub fn success_body(response: ApiResponse<'_>) -> Result<&[u8], Failure> {
    match response.status {
        Some(200) => Ok(response.body),
        // The API server sends a JSON Status. The responses that Envoy generates are text.
        Some(status) => Err(failure_from_status(status, response, is_json(response.content_type))),
        None => Err(Failure::Disconnected),
    }
}

fn is_json(content_type: Option<&[u8]>) -> bool {
    content_type.is_some_and(|value| value.starts_with(b"application/json"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::{ObjectKind, Resource};
    use std::time::Duration;

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
        parse_list(&hpas(), response, &mut ()).unwrap_err()
    }

    #[test]
    fn responses_of_envoy_are_not_mistaken_for_those_of_the_api_server() {
        let refused = "upstream connect error or disconnect/reset before headers. reset reason: connection refused";
        let seven = Some(Duration::from_secs(7));
        for (status, content_type, body, expected) in [
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
            assert_eq!(failure_of(status, content_type, body), expected);
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
    fn a_page_that_is_not_json_is_malformed() {
        for body in ["", "<html>", "{\"kind\":\"HorizontalPodAutoscalerList\",\"items\":[{"] {
            assert!(
                matches!(failure_of(Some(200), "application/json", body), Failure::Malformed(_)),
                "{body}"
            );
        }
    }
}
