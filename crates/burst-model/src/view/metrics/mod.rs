//! The custom and external metrics APIs, as kube-apiserver's aggregator asks for them.
//!
//! [`answer`] takes a request of the filter chain that is theirs, and answers it whatever it is: nothing goes on from
//! there. Envoy saw the certificate of the front proxy, without which [`connection`] lets no request pass, and
//! kube-apiserver asked its RBAC about the user, so all that is asked for here is that a user is named. Values come from the [`Picture`] and from
//! [`Rates`]; discovery, health and OpenAPI from the configuration alone, so that an outage of the source is an error
//! of each metric and not of the API.

mod accept;
mod aggregated;
mod api;
mod catalog;
pub mod connection;
mod custom;
mod discovery;
mod echo;
mod external;
mod json;
pub mod others;
mod path;
mod permission;
mod query;
mod reading;
pub mod review;
mod sheet;
mod status;
mod value;

pub use api::Api;

use super::{Answer, Picture};
use crate::config::{Config, MetricsApisConfig};
use crate::policies::EffectivePolicies;
use crate::rates::Rates;
use crate::time::Time;
use accept::Form;
use others::Offers;
use path::Target;
use query::Query;
use status::Refusal;
use std::time::Duration;

const JSON: &str = "application/json";

/// A request of the filter chain. Absent headers are empty.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
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
pub struct Sources<'a> {
    /// The cluster.
    pub picture: &'a Picture,
    /// The requests.
    pub rates: &'a Rates,
    /// What the other adapters say they have.
    pub offers: &'a Offers,
    /// The policies that are objects.
    pub enforced: &'a EffectivePolicies,
    /// The present, which ages are measured from.
    pub now: Time,
}

/// An answer, and what a stat is to know of it.
#[derive(Debug)]
pub struct Reply {
    /// The answer.
    pub answer: Answer,
    /// How old the values in it are, where there are any.
    pub age: Option<(Api, Duration)>,
}

/// The answer to a request that ended a VM a moment ago.
#[must_use]
pub fn left_alone() -> Answer {
    Refusal::unavailable("a proxy thread stopped while it answered this request; it is answered again a minute later")
        .answer()
}

/// Answers any request of the filter chain.
#[must_use]
pub fn answer(config: &Config, apis: &MetricsApisConfig, sources: Sources<'_>, request: Request<'_>) -> Reply {
    serve(config, apis, sources, request).unwrap_or_else(|refusal| refusal.answer().into())
}

/// The answer in the place of a bulk one, which would be one too many at a time.
#[must_use]
pub fn busy() -> Answer {
    Refusal::too_many("too many bulk answers are under way: ask again in a second").answer()
}

/// A question for values.
struct Ask<'a> {
    config: &'a Config,
    apis: &'a MetricsApisConfig,
    sources: Sources<'a>,
    request: Request<'a>,
    query: Query,
}

/// The answer to it.
struct Values {
    body: String,
    api: Api,
    age: Duration,
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self { answer, age: None }
    }
}

impl From<Values> for Reply {
    fn from(Values { body, api, age }: Values) -> Self {
        Self {
            answer: Answer::new(200, JSON, body.into_bytes()),
            age: Some((api, age)),
        }
    }
}

fn serve(
    config: &Config,
    apis: &MetricsApisConfig,
    sources: Sources<'_>,
    request: Request<'_>,
) -> Result<Reply, Refusal> {
    if request.user.trim_ascii().is_empty() {
        return Err(Refusal::unauthorized());
    }
    let (path, query) = path::split(request.path)?;
    let target = path::parse(&path);
    if target == Target::Nothing {
        return Err(Refusal::no_such_path());
    }
    if request.method != b"GET" {
        return Err(Refusal::method());
    }
    let form = |has: fn(Form) -> bool| accept::form(request.accept, has);
    let is_value = |form| matches!(form, Form::Json | Form::Table(_));
    let ask = || {
        query::parse(query).map(|query| Ask {
            config,
            apis,
            sources,
            request,
            query,
        })
    };
    match target {
        Target::Custom(api, wanted) => custom::answer(&ask()?, api, form(is_value)?, wanted).map(Reply::from),
        Target::External(wanted) => external::answer(&ask()?, form(is_value)?, &wanted).map(Reply::from),
        Target::Groups => Ok(discovery::groups(
            &discovery::Shown::new(config, apis, sources.offers),
            form(|form| !matches!(form, Form::Table(_)))?,
            request.if_none_match,
        )
        .into()),
        Target::Group(group) => Ok(discovery::group(group).into()),
        Target::Resources(api) => {
            Ok(discovery::resources(&discovery::Shown::new(config, apis, sources.offers), api).into())
        }
        Target::Root => Ok(discovery::paths(200).into()),
        Target::OpenApiV2 => {
            Ok(discovery::document(r#"{"swagger":"2.0","info":{"title":"burst","version":"v1"},"paths":{}}"#).into())
        }
        Target::OpenApiV3 => Ok(discovery::document(r#"{"paths":{}}"#).into()),
        Target::Health => Ok(Answer::new(200, "text/plain; charset=utf-8", *b"ok").into()),
        Target::Version => Ok(version().into()),
        Target::Nothing | Target::Elsewhere => Ok(discovery::paths(404).into()),
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
