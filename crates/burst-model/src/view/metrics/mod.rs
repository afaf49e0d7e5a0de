//! The custom and external metrics APIs, as kube-apiserver's aggregator asks for them.
//!
//! [`answer`] takes a request of the filter chain that is theirs, and answers it whatever it is: nothing goes on from
//! there. Who is behind the request was shown to Envoy (the front proxy's certificate) and to kube-apiserver (its
//! RBAC), so all that is asked for here is that a user is named. Values come from the [`Picture`] and from
//! [`Rates`]; discovery, health and OpenAPI from the configuration alone, so that an outage of the source is an error
//! of each metric and not of the API.

mod accept;
mod api;
mod catalog;
mod custom;
mod discovery;
mod external;
mod json;
mod path;
mod status;

pub use api::Api;

use super::{Answer, Picture};
use crate::config::{Config, MetricsApis};
use crate::rates::Rates;
use crate::time::Time;
use accept::Form;
use path::Target;
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
}

/// What the values come from.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// The cluster.
    pub picture: &'a Picture,
    /// The requests.
    pub rates: &'a Rates,
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

/// Answers any request of the filter chain.
#[must_use]
pub fn answer(config: &Config, apis: &MetricsApis, sources: Sources<'_>, request: Request<'_>) -> Reply {
    let _ = sources;
    let answer = served(config, apis, request).unwrap_or_else(|refusal| refusal.answer());
    Reply { answer, age: None }
}

fn served(config: &Config, apis: &MetricsApis, request: Request<'_>) -> Result<Answer, Refusal> {
    if request.user.trim_ascii().is_empty() {
        return Err(Refusal::unauthorized());
    }
    let (path, _query) = path::split(request.path)?;
    let target = path::parse(&path);
    if request.method != b"GET" {
        return Err(Refusal::method());
    }
    accept::form(request.accept, |form| form == Form::Json)?;
    match target {
        Target::Root => Ok(discovery::paths(200)),
        Target::Elsewhere => Ok(discovery::paths(404)),
        Target::Health => Ok(Answer::new(200, "text/plain; charset=utf-8", *b"ok")),
        Target::Version => Ok(version()),
        Target::Groups => Ok(discovery::groups()),
        Target::Group(group) => Ok(discovery::group(group)),
        Target::Resources(api) => Ok(discovery::resources(config, apis, api)),
        Target::Nothing => Err(Refusal::no_such_path()),
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
