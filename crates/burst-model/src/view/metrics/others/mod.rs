//! Other adapters of the two groups, behind this one: a name that is ours is ours, and any other goes on to whom the
//! configuration names for its group. Discovery lists both.
//!
//! [`goes_on`] tells which requests those are; [`read`] takes what an adapter says it has, and [`Offers`] keeps it.

mod list;

pub use list::{Offer, Unlisted, path, read};

use super::catalog::Metric;
use super::path::Target;
use super::{Api, Request, custom, external};
use crate::config::{Adapter, MetricsApis};
use crate::records::Record;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What the other adapters offer, by version; nothing of those that do not say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offers {
    versions: BTreeMap<String, Vec<Offer>>,
}

impl Record for Offers {}

/// The versions that another adapter is asked about, and who that is.
pub fn asked(apis: &MetricsApis) -> impl Iterator<Item = (Api, &Adapter)> {
    Api::ALL.into_iter().filter_map(|api| Some((api, adapter(apis, api)?)))
}

/// Whose the names are that are not ours.
fn adapter(apis: &MetricsApis, api: Api) -> Option<&Adapter> {
    match api {
        Api::CustomV1Beta1 | Api::CustomV1Beta2 => apis.fallback.custom.as_ref(),
        Api::External => apis.fallback.external.as_ref(),
    }
}

/// Whether a request is for another adapter, to which Envoy's route leads. It is for whoever has the name of its metric,
/// whatever it is a metric of.
#[must_use]
pub fn goes_on(apis: &MetricsApis, request: Request<'_>) -> bool {
    if asked(apis).next().is_none() || request.user.trim_ascii().is_empty() {
        return false;
    }
    let Ok((path, _)) = super::path::split(request.path) else {
        return false;
    };
    match super::path::parse(&path) {
        Target::Custom(api, custom::Wanted { metric, .. }) => {
            adapter(apis, api).is_some() && Metric::named(apis, metric).is_none()
        }
        Target::External(external::Wanted { metric, .. }) => {
            adapter(apis, Api::External).is_some() && external::named(apis, &metric).is_none()
        }
        _ => false,
    }
}

impl Offers {
    /// Takes what an adapter offers now; whether that is something else than before.
    pub fn put(&mut self, api: Api, offers: Vec<Offer>) -> bool {
        let version = format!("{}/{}", api.group(), api.version());
        if self.versions.get(&version).map_or(&[][..], Vec::as_slice) == offers {
            return false;
        }
        self.versions.insert(version, offers);
        true
    }

    /// What is listed beside our own names. Of each resource all metrics live in namespaces, or none does: one that
    /// differed would make the API server's garbage collection stand still in the whole cluster.
    pub(super) fn beside<'a>(&'a self, api: Api, ours: &[(String, bool)]) -> Vec<&'a Offer> {
        let Some(offers) = self.versions.get(&format!("{}/{}", api.group(), api.version())) else {
            return Vec::new();
        };
        let mut scopes: BTreeMap<&str, bool> = BTreeMap::new();
        for (name, namespaced) in ours {
            scopes.insert(parent(name), *namespaced);
        }
        let mut listed: BTreeSet<&str> = ours.iter().map(|(name, _)| name.as_str()).collect();
        let mut beside = Vec::new();
        for offer in offers {
            let scope = *scopes.entry(parent(&offer.name)).or_insert(offer.namespaced);
            if scope == offer.namespaced && listed.insert(&offer.name) {
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
