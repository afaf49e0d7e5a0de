//! Discovery in one document for all groups. The reference library answers with an empty list, so what its adapters have
//! cannot be found this way.
//! <https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery>

use super::{ApiResource, Shown};
use crate::api_version::ApiVersion;
use crate::catalog::{DescribedKind, ServedMetric};
use crate::fallback::AdapterResource;
use crate::json::{Quoted, list};
use crate::{custom, external};
use burst_model::view::Answer;

/// `/apis`, in that version of `apidiscovery.k8s.io`.
pub(super) fn groups(shown: &Shown<'_>, version: &str) -> Answer {
    let group = |group: &str| {
        let versions = ApiVersion::ALL.into_iter().filter(|api| api.group() == group);
        let versions = list(versions.map(|api| self::version(shown, api)));
        format!(r#"{{"metadata":{{"name":"{group}","creationTimestamp":null}},"versions":[{versions}]}}"#)
    };
    let items = list([custom::GROUP, external::GROUP].map(group));
    let body = format!(
        r#"{{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/{version}","metadata":{{}},"items":[{items}]}}"#
    );
    let content_type = format!("application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList");
    Answer::new(200, &content_type, format!("{body}\n").into_bytes())
}

fn version(shown: &Shown<'_>, api: ApiVersion) -> String {
    let ours = shown.ours(api);
    let mut others = RemainingResources(shown.offers.beside(api, &ours));
    let mut resources: Vec<_> = match api {
        ApiVersion::ExternalV1Beta1 => ours.iter().map(external).collect(),
        ApiVersion::CustomV1Beta1 | ApiVersion::CustomV1Beta2 => {
            let of = |described: &DescribedKind| self::described(shown, api, described, &mut others);
            DescribedKind::all(shown.config).iter().map(of).collect()
        }
    };
    resources.extend(std::iter::from_fn(|| others.next(api)));
    format!(
        r#"{{"version":"{}","resources":[{}],"freshness":"Current"}}"#,
        api.version(),
        list(resources)
    )
}

/// A resource of the external metrics API.
fn external(resource: &ApiResource) -> String {
    let ApiResource { name, kind, .. } = resource;
    let (group, verbs) = (external::GROUP, resource.verbs());
    format!(
        r#"{{"resource":"{name}","responseKind":{{"group":"{group}","version":"v1beta1","kind":"{kind}"}},"scope":"Namespaced","singularResource":"","verbs":[{verbs}]}}"#
    )
}

/// The metrics of a resource, ours and those of others, as its subresources. It has no verbs itself, and its empty kind
/// keeps clients from taking it for one of this group.
fn described(
    shown: &Shown<'_>,
    api: ApiVersion,
    described: &DescribedKind,
    others: &mut RemainingResources<'_>,
) -> String {
    let name = described.name();
    let metrics = ServedMetric::all(shown.apis).filter(|metric| described.has(*metric));
    let ours = metrics.map(|metric| subresource(api, metric.name(), custom::LIST_KIND, r#""get""#));
    let subresources = list(ours.chain(others.take(api, &name)));
    let scope = scope(described.is_namespaced());
    format!(
        r#"{{"resource":"{name}","responseKind":{{"group":"","version":"","kind":""}},"scope":"{scope}","singularResource":"","verbs":[],"subresources":[{subresources}]}}"#
    )
}

fn subresource(api: ApiVersion, name: &str, kind: &str, verbs: &str) -> String {
    let (group, version, name, kind) = (api.group(), api.version(), Quoted(name), Quoted(kind));
    format!(
        r#"{{"subresource":{name},"responseKind":{{"group":"{group}","version":"{version}","kind":{kind}}},"verbs":[{verbs}]}}"#
    )
}

fn scope(namespaced: bool) -> &'static str {
    if namespaced { "Namespaced" } else { "Cluster" }
}

/// What other adapters offer and is not written yet.
struct RemainingResources<'a>(Vec<&'a AdapterResource>);

impl RemainingResources<'_> {
    /// Writes the metrics of a resource.
    fn take(&mut self, api: ApiVersion, resource: &str) -> Vec<String> {
        let mut written = Vec::new();
        self.0.retain(|offer| match offer.name.split_once('/') {
            Some((of, name)) if of == resource => {
                written.push(subresource(api, name, offer.kind(api), &verbs(offer)));
                false
            }
            _ => true,
        });
        written
    }

    /// Writes the next resource, with all that is listed of it.
    fn next(&mut self, api: ApiVersion) -> Option<String> {
        let first = *self.0.first()?;
        let resource = first.name.split_once('/').map_or(&*first.name, |(of, _)| of);
        let itself = self.0.iter().position(|offer| offer.name == resource);
        let itself = itself.map(|place| self.0.remove(place));
        let subresources = list(self.take(api, resource));
        let (group, version) = itself.map_or(("", ""), |_| (api.group(), api.version()));
        let kind = Quoted(itself.map_or("", |offer| offer.kind(api)));
        let singular = Quoted(itself.map_or("", |offer| &offer.singular_name));
        let verbs = itself.map(verbs).unwrap_or_default();
        let (name, scope) = (Quoted(resource), scope(first.namespaced));
        Some(format!(
            r#"{{"resource":{name},"responseKind":{{"group":"{group}","version":"{version}","kind":{kind}}},"scope":"{scope}","singularResource":{singular},"verbs":[{verbs}],"subresources":[{subresources}]}}"#
        ))
    }
}

fn verbs(offer: &AdapterResource) -> String {
    list(offer.verbs.iter().map(|verb| Quoted(verb)))
}
