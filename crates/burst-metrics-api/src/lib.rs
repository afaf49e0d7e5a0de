//! The custom and external metrics APIs, as kube-apiserver's aggregator asks for them.
//!
//! [`answer`] takes a request of the filter chain that is theirs, and answers it whatever it is: nothing goes on from
//! there. Envoy saw the certificate of the front proxy, without which [`connection`] lets no request pass, and
//! kube-apiserver asked its RBAC about the user, so all that is asked for here is that a user is named. Values come from the [`Picture`] and from
//! [`Rates`]; discovery, health and OpenAPI from the configuration alone, so that an outage of the source is an error
//! of each metric and not of the API.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::unreachable
    )
)]

mod accept;
mod api_version;
mod catalog;
pub mod connection;
mod custom;
mod discovery;
mod external;
pub mod fallback;
mod field_selector;
mod json;
mod list_options;
mod metric_values;
mod milli_value;
mod path;
mod policy_check;
mod response_body;
pub mod review;
mod selector_json;
mod status;
mod user_info;

pub use api_version::ApiVersion;

use accept::ResponseFormat;
use burst_model::config::{Config, MetricsApis};
use burst_model::policies::Enforced;
use burst_model::rates::Rates;
use burst_model::time::Time;
use burst_model::view::{Answer, Picture};
use fallback::AdapterResources;
use list_options::ListOptions;
use path::ApiPath;
use status::StatusError;
use std::time::Duration;

const JSON: &str = "application/json";

/// A request of the filter chain. Absent headers are empty.
#[derive(Clone, Copy, Debug)]
pub struct MetricsRequest<'a> {
    /// `:method`.
    pub method: &'a [u8],
    /// `:path`, with its query.
    pub path: &'a [u8],
    /// `accept`.
    pub accept: &'a [u8],
    /// `if-none-match`.
    pub if_none_match: &'a [u8],
    /// `x-remote-user`.
    pub user: &'a [u8],
    /// Each `x-remote-group`.
    pub groups: &'a [String],
}

/// What the values come from.
#[derive(Clone, Copy, Debug)]
pub struct MetricSources<'a> {
    /// The cluster.
    pub picture: &'a Picture,
    /// The requests.
    pub rates: &'a Rates,
    /// What the other adapters say they have.
    pub offers: &'a AdapterResources,
    /// The policies that are objects.
    pub enforced: &'a Enforced,
    /// The present, which ages are measured from.
    pub now: Time,
}

/// An answer, and what a stat is to know of it.
#[derive(Debug)]
pub struct MetricsResponse {
    /// The answer.
    pub answer: Answer,
    /// How old the values in it are, where there are any.
    pub age: Option<(ApiVersion, Duration)>,
}

/// The answer to a request that ended a VM a moment ago.
#[must_use]
pub fn left_alone() -> Answer {
    StatusError::unavailable(
        "a proxy thread stopped while it answered this request; it is answered again a minute later",
    )
    .answer()
}

/// Answers any request of the filter chain.
#[must_use]
pub fn answer(
    config: &Config,
    apis: &MetricsApis,
    sources: MetricSources<'_>,
    request: MetricsRequest<'_>,
) -> MetricsResponse {
    serve(config, apis, sources, request).unwrap_or_else(|refusal| refusal.answer().into())
}

/// The answer in the place of a bulk one, which would be one too many at a time.
#[must_use]
pub fn busy() -> Answer {
    StatusError::too_many("too many bulk answers are under way: ask again in a second").answer()
}

/// A question for values.
struct Ask<'a> {
    config: &'a Config,
    apis: &'a MetricsApis,
    sources: MetricSources<'a>,
    request: MetricsRequest<'a>,
    query: ListOptions,
}

/// The answer to it.
struct Values {
    body: String,
    api: ApiVersion,
    age: Duration,
}

impl From<Answer> for MetricsResponse {
    fn from(answer: Answer) -> Self {
        Self { answer, age: None }
    }
}

impl From<Values> for MetricsResponse {
    fn from(Values { body, api, age }: Values) -> Self {
        Self {
            answer: Answer::new(200, JSON, body.into_bytes()),
            age: Some((api, age)),
        }
    }
}

fn serve(
    config: &Config,
    apis: &MetricsApis,
    sources: MetricSources<'_>,
    request: MetricsRequest<'_>,
) -> Result<MetricsResponse, StatusError> {
    if request.user.trim_ascii().is_empty() {
        return Err(StatusError::unauthorized());
    }
    let (path, query) = path::split(request.path)?;
    let target = path::parse(&path);
    if target == ApiPath::Nothing {
        return Err(StatusError::no_such_path());
    }
    if request.method != b"GET" {
        return Err(StatusError::method());
    }
    let form = |has: fn(ResponseFormat) -> bool| accept::form(request.accept, has);
    let is_value = |form| matches!(form, ResponseFormat::Json | ResponseFormat::Table(_));
    let ask = || {
        list_options::parse(query).map(|query| Ask {
            config,
            apis,
            sources,
            request,
            query,
        })
    };
    match target {
        ApiPath::Custom(api, wanted) => {
            custom::answer(&ask()?, api, form(is_value)?, wanted).map(MetricsResponse::from)
        }
        ApiPath::External(wanted) => external::answer(&ask()?, form(is_value)?, &wanted).map(MetricsResponse::from),
        ApiPath::Groups => Ok(discovery::groups(
            &discovery::Shown::new(config, apis, sources.offers),
            form(|form| !matches!(form, ResponseFormat::Table(_)))?,
            request.if_none_match,
        )
        .into()),
        ApiPath::Group(group) => Ok(discovery::group(group).into()),
        ApiPath::Resources(api) => {
            Ok(discovery::resources(&discovery::Shown::new(config, apis, sources.offers), api).into())
        }
        ApiPath::Root => Ok(discovery::paths(200).into()),
        ApiPath::OpenApiV2 => {
            Ok(discovery::document(r#"{"swagger":"2.0","info":{"title":"burst","version":"v1"},"paths":{}}"#).into())
        }
        ApiPath::OpenApiV3 => Ok(discovery::document(r#"{"paths":{}}"#).into()),
        ApiPath::Health => Ok(Answer::new(200, "text/plain; charset=utf-8", *b"ok").into()),
        ApiPath::Version => Ok(version().into()),
        ApiPath::Nothing | ApiPath::Elsewhere => Ok(discovery::paths(404).into()),
    }
}

fn version() -> Answer {
    let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
    let version = env!("CARGO_PKG_VERSION");
    discovery::document(&format!(
        r#"{{"major":"{major}","minor":"{minor}","gitVersion":"v{version}","gitCommit":"","gitTreeState":"","buildDate":"","goVersion":"","compiler":"rustc","platform":"wasm32"}}"#
    ))
}

#[cfg(test)]
mod tests;
