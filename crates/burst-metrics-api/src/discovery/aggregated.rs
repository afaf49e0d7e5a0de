//! Aggregated discovery: one document that lists the resources of all groups.
//!
//! The reference library for adapters answers with an empty list, so the resources of other adapters are read from the
//! unaggregated documents.
//! <https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery>

use super::{adapter_resources, served_resources};
use crate::adapters::AdapterResource;
use crate::aliases;
use crate::api_version::{ApiVersion, CUSTOM_GROUP, EXTERNAL_GROUP};
use crate::catalog::DescribedKind;
use crate::encoding::{Encoding, TypeMeta};
use crate::objects::{
    ApiGroupDiscovery, ApiGroupDiscoveryList, ApiResource, ApiResourceDiscovery, ApiSubresourceDiscovery,
    ApiVersionDiscovery, GroupVersionKind, ListMeta, ObjectMeta,
};
use crate::sources::MetricSources;
use burst_model::serve::LocalReply;

/// The document of `/apis`, in this version of `apidiscovery.k8s.io`.
pub(super) fn groups(sources: &MetricSources<'_>, encoding: Encoding, version: &str) -> LocalReply {
    let list = ApiGroupDiscoveryList {
        metadata: ListMeta::default(),
        items: [CUSTOM_GROUP, EXTERNAL_GROUP]
            .map(|group| group_item(sources, group))
            .into(),
    };
    let api_version = format!("apidiscovery.k8s.io/{version}");
    let body = encoding.encode(TypeMeta::new("APIGroupDiscoveryList", &api_version), &list);
    let media_type = encoding.media_type();
    let content_type = format!("{media_type};g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList");
    LocalReply::new(200, &content_type, body)
}

fn group_item(sources: &MetricSources<'_>, group: &str) -> ApiGroupDiscovery {
    let versions = ApiVersion::ALL.into_iter().filter(|api| api.group() == group);
    ApiGroupDiscovery {
        metadata: ObjectMeta {
            name: group.to_owned(),
            ..ObjectMeta::default()
        },
        versions: versions.map(|api| version_item(sources, api)).collect(),
    }
}

fn version_item(sources: &MetricSources<'_>, api: ApiVersion) -> ApiVersionDiscovery {
    let served = served_resources(sources, api);
    let mut remaining = RemainingResources(adapter_resources(sources, api, &served));
    let mut resources: Vec<_> = match api {
        ApiVersion::ExternalV1Beta1 => served.into_iter().map(external_item).collect(),
        ApiVersion::CustomV1Beta1 | ApiVersion::CustomV1Beta2 => DescribedKind::all(sources.config)
            .iter()
            .map(|kind| described_item(sources, api, kind, &mut remaining))
            .collect(),
    };
    resources.extend(std::iter::from_fn(|| remaining.next_item(api)));
    ApiVersionDiscovery {
        version: api.version().to_owned(),
        resources,
        freshness: "Current".to_owned(),
    }
}

/// A resource of the external metrics API.
fn external_item(resource: ApiResource) -> ApiResourceDiscovery {
    ApiResourceDiscovery {
        resource: resource.name,
        response_kind: response_kind(ApiVersion::ExternalV1Beta1, &resource.kind),
        scope: scope(resource.namespaced),
        singular_resource: String::new(),
        verbs: resource.verbs.items,
        subresources: Vec::new(),
    }
}

/// A kind of objects with its metrics, ours and those of another adapter, as subresources. The resource itself has no
/// verbs, and its kind is empty so that clients do not look for the objects in this group.
fn described_item(
    sources: &MetricSources<'_>,
    api: ApiVersion,
    kind: &DescribedKind,
    remaining: &mut RemainingResources<'_>,
) -> ApiResourceDiscovery {
    let resource = kind.name();
    let served = aliases::names(sources, kind)
        .into_iter()
        .map(|metric| ApiSubresourceDiscovery {
            subresource: metric.to_owned(),
            response_kind: response_kind(api, api.list_kind()),
            verbs: vec!["get".to_owned()],
        });
    ApiResourceDiscovery {
        subresources: served.chain(remaining.take_subresources(api, &resource)).collect(),
        resource,
        response_kind: GroupVersionKind::default(),
        scope: scope(kind.is_namespaced()),
        singular_resource: String::new(),
        verbs: Vec::new(),
    }
}

fn response_kind(api: ApiVersion, kind: &str) -> GroupVersionKind {
    GroupVersionKind {
        group: api.group().to_owned(),
        version: api.version().to_owned(),
        kind: kind.to_owned(),
    }
}

fn scope(namespaced: bool) -> String {
    if namespaced { "Namespaced" } else { "Cluster" }.to_owned()
}

/// The resources of another adapter that the document does not list yet.
struct RemainingResources<'a>(Vec<&'a AdapterResource>);

impl RemainingResources<'_> {
    /// Takes out the subresources of a resource.
    fn take_subresources(&mut self, api: ApiVersion, parent: &str) -> Vec<ApiSubresourceDiscovery> {
        let mut items = Vec::new();
        self.0.retain(|resource| match resource.name.split_once('/') {
            Some((of, name)) if of == parent => {
                items.push(ApiSubresourceDiscovery {
                    subresource: name.to_owned(),
                    response_kind: response_kind(api, resource.discovery_kind(api)),
                    verbs: resource.verbs.clone(),
                });
                false
            }
            _ => true,
        });
        items
    }

    /// Takes out the next resource with all of its subresources.
    fn next_item(&mut self, api: ApiVersion) -> Option<ApiResourceDiscovery> {
        let first = *self.0.first()?;
        let name = first.name.split_once('/').map_or(&*first.name, |(parent, _)| parent);
        let position = self.0.iter().position(|resource| resource.name == name);
        let resource = position.map(|position| self.0.remove(position));
        Some(ApiResourceDiscovery {
            resource: name.to_owned(),
            response_kind: resource.map_or_else(GroupVersionKind::default, |resource| {
                response_kind(api, resource.discovery_kind(api))
            }),
            scope: scope(first.namespaced),
            singular_resource: resource
                .map(|resource| resource.singular_name.clone())
                .unwrap_or_default(),
            verbs: resource.map(|resource| resource.verbs.clone()).unwrap_or_default(),
            subresources: self.take_subresources(api, name),
        })
    }
}
