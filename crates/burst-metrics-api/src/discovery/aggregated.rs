//! Aggregated discovery: one document that lists the resources of all groups.
//!
//! The reference library for adapters answers with an empty list, so the resources of other adapters are read from the
//! unaggregated documents.
//! <https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery>

use super::{ApiResource, adapter_resources, served_resources};
use crate::adapters::AdapterResource;
use crate::api_version::{ApiVersion, CUSTOM_GROUP, EXTERNAL_GROUP};
use crate::catalog::{DescribedKind, ServedMetric};
use crate::json::{JsonString, comma_separated};
use crate::sources::MetricSources;
use burst_model::serve::LocalReply;

/// The document of `/apis`, in this version of `apidiscovery.k8s.io`.
pub(super) fn groups(sources: &MetricSources<'_>, version: &str) -> LocalReply {
    let items = comma_separated([CUSTOM_GROUP, EXTERNAL_GROUP].map(|group| group_item(sources, group)));
    let body = format!(
        r#"{{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/{version}","metadata":{{}},"items":[{items}]}}"#
    );
    let content_type = format!("application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList");
    LocalReply::new(200, &content_type, format!("{body}\n").into_bytes())
}

fn group_item(sources: &MetricSources<'_>, group: &str) -> String {
    let items = ApiVersion::ALL
        .into_iter()
        .filter(|api| api.group() == group)
        .map(|api| version_item(sources, api));
    let versions = comma_separated(items);
    format!(r#"{{"metadata":{{"name":"{group}","creationTimestamp":null}},"versions":[{versions}]}}"#)
}

fn version_item(sources: &MetricSources<'_>, api: ApiVersion) -> String {
    let served = served_resources(sources, api);
    let mut remaining = RemainingResources(adapter_resources(sources, api, &served));
    let mut resources: Vec<_> = match api {
        ApiVersion::ExternalV1Beta1 => served.iter().map(external_item).collect(),
        ApiVersion::CustomV1Beta1 | ApiVersion::CustomV1Beta2 => DescribedKind::all(sources.config)
            .iter()
            .map(|kind| described_item(sources, api, kind, &mut remaining))
            .collect(),
    };
    resources.extend(std::iter::from_fn(|| remaining.next_item(api)));
    format!(
        r#"{{"version":"{}","resources":[{}],"freshness":"Current"}}"#,
        api.version(),
        comma_separated(resources)
    )
}

/// A resource of the external metrics API.
fn external_item(resource: &ApiResource) -> String {
    let ApiResource { name, kind, .. } = resource;
    let verbs = resource.verbs();
    format!(
        r#"{{"resource":"{name}","responseKind":{{"group":"{EXTERNAL_GROUP}","version":"v1beta1","kind":"{kind}"}},"scope":"Namespaced","singularResource":"","verbs":[{verbs}]}}"#
    )
}

/// A kind of objects with its metrics, ours and those of another adapter, as subresources. The resource itself has no
/// verbs, and its kind is empty so that clients do not look for the objects in this group.
fn described_item(
    sources: &MetricSources<'_>,
    api: ApiVersion,
    kind: &DescribedKind,
    remaining: &mut RemainingResources<'_>,
) -> String {
    let name = kind.name();
    let served = ServedMetric::all(sources.apis)
        .filter(|metric| kind.has(*metric))
        .map(|metric| subresource_item(api, metric.name(), api.list_kind(), r#""get""#));
    let subresources = comma_separated(served.chain(remaining.take_subresources(api, &name)));
    let scope = scope(kind.is_namespaced());
    format!(
        r#"{{"resource":"{name}","responseKind":{{"group":"","version":"","kind":""}},"scope":"{scope}","singularResource":"","verbs":[],"subresources":[{subresources}]}}"#
    )
}

fn subresource_item(api: ApiVersion, name: &str, kind: &str, verbs: &str) -> String {
    let (group, version, name, kind) = (api.group(), api.version(), JsonString(name), JsonString(kind));
    format!(
        r#"{{"subresource":{name},"responseKind":{{"group":"{group}","version":"{version}","kind":{kind}}},"verbs":[{verbs}]}}"#
    )
}

fn scope(namespaced: bool) -> &'static str {
    if namespaced { "Namespaced" } else { "Cluster" }
}

/// The resources of another adapter that the document does not list yet.
struct RemainingResources<'a>(Vec<&'a AdapterResource>);

impl RemainingResources<'_> {
    /// Takes out the subresources of a resource, and writes them.
    fn take_subresources(&mut self, api: ApiVersion, parent: &str) -> Vec<String> {
        let mut items = Vec::new();
        self.0.retain(|resource| match resource.name.split_once('/') {
            Some((of, name)) if of == parent => {
                items.push(subresource_item(
                    api,
                    name,
                    resource.discovery_kind(api),
                    &verbs(resource),
                ));
                false
            }
            _ => true,
        });
        items
    }

    /// Takes out the next resource with all of its subresources, and writes it.
    fn next_item(&mut self, api: ApiVersion) -> Option<String> {
        let first = *self.0.first()?;
        let name = first.name.split_once('/').map_or(&*first.name, |(parent, _)| parent);
        let position = self.0.iter().position(|resource| resource.name == name);
        let resource = position.map(|position| self.0.remove(position));
        let subresources = comma_separated(self.take_subresources(api, name));
        let (group, version) = resource.map_or(("", ""), |_| (api.group(), api.version()));
        let kind = JsonString(resource.map_or("", |resource| resource.discovery_kind(api)));
        let singular_name = JsonString(resource.map_or("", |resource| &resource.singular_name));
        let verbs = resource.map(verbs).unwrap_or_default();
        let (name, scope) = (JsonString(name), scope(first.namespaced));
        Some(format!(
            r#"{{"resource":{name},"responseKind":{{"group":"{group}","version":"{version}","kind":{kind}}},"scope":"{scope}","singularResource":{singular_name},"verbs":[{verbs}],"subresources":[{subresources}]}}"#
        ))
    }
}

fn verbs(resource: &AdapterResource) -> String {
    comma_separated(resource.verbs.iter().map(|verb| JsonString(verb)))
}
