//! Routes an authorized request to the handler of its path, or to another adapter.

use crate::accept::ResponseFormat;
use crate::api_version::ApiVersion;
use crate::path::{ApiPath, CustomMetricPath, ExternalMetricPath};
use crate::request::MetricsRequest;
use crate::response::MetricsResponse;
use crate::sources::MetricSources;
use crate::status::StatusError;
use crate::{custom, discovery, external, fallback, policy_check};
use burst_model::serve::LocalReply;

/// The result of routing a request.
#[derive(Debug)]
pub enum RoutedRequest {
    /// The filter answers it.
    Answered(MetricsResponse),
    /// Another adapter answers it: Envoy's route leads there.
    Delegated,
}

/// Answers an authorized request, or decides that another adapter does.
#[must_use]
pub fn serve(sources: &MetricSources<'_>, request: &MetricsRequest) -> RoutedRequest {
    let answered = match fallback::is_delegated(sources, request) {
        Ok(true) => return RoutedRequest::Delegated,
        Ok(false) => answer(sources, request),
        Err(error) => Err(error),
    };
    RoutedRequest::Answered(answered.unwrap_or_else(|error| error.to_answer().into()))
}

fn answer(sources: &MetricSources<'_>, request: &MetricsRequest) -> Result<MetricsResponse, StatusError> {
    let path = &request.path.target;
    if *path == ApiPath::NotFound {
        return Err(StatusError::no_such_path());
    }
    if request.method != "GET" {
        return Err(StatusError::method_not_allowed());
    }
    let answer = match path {
        ApiPath::Custom(api, path) => return answer_custom(sources, request, *api, path),
        ApiPath::External(path) => return answer_external(sources, request, path),
        ApiPath::Groups => {
            let format = request
                .accept
                .choose(|format| !matches!(format, ResponseFormat::Table(_)))?;
            discovery::groups(sources, format, &request.if_none_match)
        }
        ApiPath::Group(group) => discovery::group(group),
        ApiPath::Resources(api) => discovery::resources(sources, *api),
        ApiPath::Root => discovery::paths(200),
        ApiPath::OpenApiV2 => {
            discovery::document(r#"{"swagger":"2.0","info":{"title":"burst","version":"v1"},"paths":{}}"#)
        }
        ApiPath::OpenApiV3 => discovery::document(r#"{"paths":{}}"#),
        ApiPath::Health => LocalReply::new(200, "text/plain; charset=utf-8", *b"ok"),
        ApiPath::Version => discovery::version(),
        ApiPath::NotFound | ApiPath::Elsewhere => discovery::paths(404),
    };
    Ok(answer.into())
}

fn answer_custom(
    sources: &MetricSources<'_>,
    request: &MetricsRequest,
    api: ApiVersion,
    path: &CustomMetricPath,
) -> Result<MetricsResponse, StatusError> {
    request.options.check()?;
    let format = request.accept.choose(is_value_format)?;
    custom::answer(sources, api, format, path, &request.options)
}

fn answer_external(
    sources: &MetricSources<'_>,
    request: &MetricsRequest,
    path: &ExternalMetricPath,
) -> Result<MetricsResponse, StatusError> {
    request.options.check()?;
    let format = request.accept.choose(is_value_format)?;
    if request.options.watch {
        return Err(StatusError::watch_not_supported());
    }
    policy_check::check(sources, request, path)?;
    external::answer(sources, format, path, &request.options)
}

fn is_value_format(format: ResponseFormat) -> bool {
    matches!(format, ResponseFormat::Json | ResponseFormat::Table(_))
}

/// The answer to a request that ended a VM shortly before.
#[must_use]
pub fn quarantined() -> LocalReply {
    StatusError::unavailable(
        "a proxy thread stopped while it answered this request; it is answered again a minute later",
    )
    .to_answer()
}

/// The answer in place of a bulk one, if too many of those are being sent.
#[must_use]
pub fn too_many_bulk_answers() -> LocalReply {
    StatusError::too_many_requests("too many bulk replies are in flight: retry in a second").to_answer()
}
