//! Other adapters of the two groups, behind this one: a name that is ours is ours, and any other goes on to whom the
//! configuration names for its group. Discovery lists both.
//!
//! [`goes_on`] tells which requests those are; [`read`] takes what an adapter says it has, and [`Offers`] keeps it.

mod list;

pub use list::{Offer, Unlisted, path, read};

use super::catalog::Metric;
use super::path::Target;
use super::{Api, Ask, Request, Sources, custom, discovery, external, permission};
use crate::config::{AdapterConfig, Config, MetricsApisConfig};
use crate::records::Record;
use crate::view::Answer;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What the other adapters offer, by version, or why it is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offers {
    /// Each by its name; one that is not here has none.
    versions: Vec<(String, Result<Vec<Offer>, Unlisted>)>,
}

impl Record for Offers {}

/// The versions that another adapter is asked about, and who that is.
pub fn asked(apis: &MetricsApisConfig) -> impl Iterator<Item = (Api, &AdapterConfig)> {
    Api::ALL.into_iter().filter_map(|api| Some((api, adapter(apis, api)?)))
}

/// Whose the names are that are not ours.
fn adapter(apis: &MetricsApisConfig, api: Api) -> Option<&AdapterConfig> {
    match api {
        Api::CustomV1Beta1 | Api::CustomV1Beta2 => apis.fallback.custom.as_ref(),
        Api::External => apis.fallback.external.as_ref(),
    }
}

/// Whether a request is for another adapter, to which Envoy's route leads. It is for whoever has the name of its metric,
/// whatever it is a metric of.
///
/// # Errors
/// The answer to a query that policies do not let pass, whoever has the metric.
pub fn goes_on(
    config: &Config,
    apis: &MetricsApisConfig,
    sources: Sources<'_>,
    request: Request<'_>,
) -> Result<bool, Answer> {
    if asked(apis).next().is_none() || request.user.trim_ascii().is_empty() {
        return Ok(false);
    }
    let Ok((path, query)) = super::path::split(request.path) else {
        return Ok(false);
    };
    // What another server could read as another path is read by nobody but us.
    if path
        .iter()
        .any(|part| part == "." || part == ".." || part.contains('/'))
    {
        return Ok(false);
    }
    match super::path::parse(&path) {
        Target::Custom(api, custom::Wanted { metric, .. }) => {
            Ok(adapter(apis, api).is_some() && Metric::named(apis, metric).is_none())
        }
        Target::External(wanted) if adapter(apis, Api::External).is_some() => {
            if external::named(apis, &wanted.metric).is_some() {
                return Ok(false);
            }
            let ask = |query| Ask {
                config,
                apis,
                sources,
                request,
                query,
            };
            let permitted = apis.policies.as_ref().map_or(Ok(()), |_| {
                super::query::parse(query).and_then(|query| permission::check(&ask(query), &wanted))
            });
            permitted.map(|()| true).map_err(|refusal| refusal.answer())
        }
        _ => Ok(false),
    }
}

impl Offers {
    /// Takes what an adapter says now; whether that is something else than before.
    pub fn put(&mut self, api: Api, listed: Result<Vec<Offer>, Unlisted>) -> bool {
        let same = match &listed {
            Ok(offers) => self.trouble(api).is_none() && self.of(api) == offers,
            Err(unlisted) => self.trouble(api) == Some(unlisted),
        };
        if same {
            return false;
        }
        let name = path(api);
        self.versions.retain(|(version, _)| *version != name);
        self.versions.push((name, listed));
        true
    }

    /// Why it is not known what an adapter has.
    #[must_use]
    pub fn trouble(&self, api: Api) -> Option<&Unlisted> {
        self.find(api)?.as_ref().err()
    }

    /// An adapter that does not say what it has is listed as having nothing.
    fn of(&self, api: Api) -> &[Offer] {
        let listed = self.find(api).and_then(|listed| listed.as_ref().ok());
        listed.map_or(&[], Vec::as_slice)
    }

    fn find(&self, api: Api) -> Option<&Result<Vec<Offer>, Unlisted>> {
        let name = path(api);
        let found = self.versions.iter().find(|(version, _)| *version == name);
        found.map(|(_, listed)| listed)
    }

    /// What is listed beside our own names. Of each resource all metrics live in namespaces, or none does: one that
    /// differed would make the API server's garbage collection stand still in the whole cluster.
    pub(super) fn beside<'a>(&'a self, api: Api, ours: &[discovery::Resource]) -> Vec<&'a Offer> {
        let offers = self.of(api);
        let mut scopes: BTreeMap<&str, bool> = BTreeMap::new();
        for resource in ours {
            scopes.insert(parent(&resource.name), resource.namespaced);
        }
        let mut listed = BTreeSet::new();
        listed.extend(ours.iter().map(|resource| resource.name.as_str()));
        let mut beside = Vec::new();
        // Adapters without a list of their own offer `/custommetrics`, so as not to have none.
        let has_name = |offer: &&Offer| offer.name.split('/').all(|part| !part.is_empty());
        for offer in offers.iter().filter(has_name) {
            let scope = *scopes.entry(parent(&offer.name)).or_insert(offer.namespaced);
            if scope == offer.namespaced && listed.insert(offer.name.as_str()) {
                beside.push(offer);
            }
        }
        beside
    }
}

/// The resource that a metric is of; of an external one itself.
fn parent(name: &str) -> &str {
    name.split_once('/').map_or(name, |(parent, _)| parent)
}

#[cfg(test)]
mod tests;
