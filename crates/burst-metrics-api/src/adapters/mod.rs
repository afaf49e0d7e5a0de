//! The resources of other adapters behind this one. Discovery lists their metrics beside ours.
//!
//! [`AdapterDiscovery`] decides when to request [`resource_list_path`] from each adapter of [`adapters`], and keeps the answers
//! in [`AdapterResources`]. The shell sends the requests and publishes the record.

mod adapter_discovery;
mod resource_list;

pub use adapter_discovery::{AdapterAnswer, AdapterDiscovery, AdapterRequest, DISCOVERY_USER};
pub(crate) use resource_list::read_resource_list;
pub use resource_list::{AdapterDiscoveryError, AdapterResource, resource_list_path};

use crate::api_version::ApiVersion;
use burst_model::config::{AdapterConfig, MetricsApisConfig};
use burst_model::records::Record;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The API versions that another adapter serves too, each with the adapter.
pub fn adapters(apis: &MetricsApisConfig) -> impl Iterator<Item = (ApiVersion, &AdapterConfig)> {
    ApiVersion::ALL
        .into_iter()
        .filter_map(|api| Some((api, adapter(apis, api)?)))
}

/// The adapter that serves the metrics that are not ours.
pub(crate) fn adapter(apis: &MetricsApisConfig, api: ApiVersion) -> Option<&AdapterConfig> {
    match api {
        ApiVersion::CustomV1Beta1 | ApiVersion::CustomV1Beta2 => apis.fallback.custom.as_ref(),
        ApiVersion::ExternalV1Beta1 => apis.fallback.external.as_ref(),
    }
}

/// The resources that the other adapters list, or why they could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdapterResources {
    /// By the path of the version. A version that is absent was not read yet.
    versions: Vec<(String, Result<Vec<AdapterResource>, AdapterDiscoveryError>)>,
}

impl Record for AdapterResources {}

impl AdapterResources {
    /// Stores the answer of an adapter. Returns whether it differs from the stored one.
    pub fn update(&mut self, api: ApiVersion, listed: Result<Vec<AdapterResource>, AdapterDiscoveryError>) -> bool {
        let is_unchanged = match &listed {
            Ok(resources) => self.find(api).is_some_and(|stored| stored.as_ref() == Ok(resources)),
            Err(error) => self.error(api) == Some(error),
        };
        if is_unchanged {
            return false;
        }
        let path = resource_list_path(api);
        self.versions.retain(|(other, _)| *other != path);
        self.versions.push((path, listed));
        true
    }

    /// Why the resources of a version could not be read.
    #[must_use]
    pub fn error(&self, api: ApiVersion) -> Option<&AdapterDiscoveryError> {
        self.find(api)?.as_ref().err()
    }

    /// The resources of a version; none if they could not be read.
    fn resources(&self, api: ApiVersion) -> &[AdapterResource] {
        self.find(api)
            .and_then(|listed| listed.as_ref().ok())
            .map_or(&[], Vec::as_slice)
    }

    /// Whether a version of the custom metrics API has a metric of that name. `None` while the list of one is missing.
    pub(crate) fn has_custom_metric(&self, name: &str) -> Option<bool> {
        let is_it =
            |resource: &AdapterResource| resource.name.split_once('/').is_some_and(|(_, metric)| metric == name);
        let mut has = false;
        for api in [ApiVersion::CustomV1Beta1, ApiVersion::CustomV1Beta2] {
            has |= self.find(api)?.as_ref().ok()?.iter().any(is_it);
        }
        Some(has)
    }

    fn find(&self, api: ApiVersion) -> Option<&Result<Vec<AdapterResource>, AdapterDiscoveryError>> {
        let path = resource_list_path(api);
        let mut versions = self.versions.iter();
        versions.find(|(other, _)| *other == path).map(|(_, listed)| listed)
    }

    /// The resources to list beside ours. Each of ours is a name and whether it is namespaced.
    ///
    /// A resource that we list is left out. So is one whose scope differs from that of an earlier subresource of the same
    /// resource: mixed scopes would stop the API server's garbage collection for the whole cluster.
    pub(crate) fn listed_beside<'a, 'b>(
        &'a self,
        api: ApiVersion,
        ours: impl IntoIterator<Item = (&'b str, bool)>,
    ) -> Vec<&'a AdapterResource> {
        let mut is_namespaced_by_parent: BTreeMap<&str, bool> = BTreeMap::new();
        let mut listed: BTreeSet<&str> = BTreeSet::new();
        for (name, is_namespaced) in ours {
            is_namespaced_by_parent.insert(parent(name), is_namespaced);
            listed.insert(name);
        }
        let mut additional = Vec::new();
        for resource in self.resources(api).iter().filter(|resource| resource.is_well_named()) {
            let is_namespaced = *is_namespaced_by_parent
                .entry(parent(&resource.name))
                .or_insert(resource.namespaced);
            if is_namespaced == resource.namespaced && listed.insert(&resource.name) {
                additional.push(resource);
            }
        }
        additional
    }
}

/// The resource that a subresource belongs to; for an external metric, the metric itself.
fn parent(name: &str) -> &str {
    name.split_once('/').map_or(name, |(parent, _)| parent)
}

#[cfg(test)]
mod tests;
