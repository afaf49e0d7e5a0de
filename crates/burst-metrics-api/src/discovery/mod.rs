//! Discovery: the documents in which a Kubernetes API server lists its resources.
//! <https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api>

mod aggregated;

use crate::accept::{ResponseFormat, Transform};
use crate::adapters::AdapterResource;
use crate::aliases;
use crate::api_version::{ApiVersion, CUSTOM_GROUP, EXTERNAL_GROUP};
use crate::catalog::DescribedKind;
use crate::encoding::{self, Encoding, TypeMeta};
use crate::objects::{ApiGroup, ApiGroupList, ApiResource, ApiResourceList, GroupVersionForDiscovery, Verbs};
use crate::sources::MetricSources;
use burst_model::hash;
use burst_model::metric::ServedMetric;
use burst_model::serve::{LocalReply, has_tag};
use prost::Message;
use serde::Serialize;

/// The kind of an item in an `ExternalMetricValueList`, and the resource that discovery lists for it. The resource is not a
/// metric and has no verbs. Without it, kubectl does not recognize the items.
const EXTERNAL_ITEM_KIND: &str = "ExternalMetricValue";
const EXTERNAL_ITEM_RESOURCE: &str = "externalmetricvalues";

/// The paths that the root document lists.
const PATHS: [&str; 13] = [
    "/apis",
    "/apis/custom.metrics.k8s.io",
    "/apis/custom.metrics.k8s.io/v1beta1",
    "/apis/custom.metrics.k8s.io/v1beta2",
    "/apis/external.metrics.k8s.io",
    "/apis/external.metrics.k8s.io/v1beta1",
    "/healthz",
    "/livez",
    "/openapi",
    "/openapi/v2",
    "/openapi/v3",
    "/readyz",
    "/version",
];

/// The document of `/`.
#[derive(Serialize)]
struct RootPaths {
    paths: [&'static str; 13],
}

/// A JSON document that has no other format.
pub(crate) fn document(body: &str) -> LocalReply {
    LocalReply::new(200, "application/json", format!("{body}\n").into_bytes())
}

/// A document of discovery.
fn object(encoding: Encoding, kind: &str, object: &(impl Message + Serialize)) -> LocalReply {
    let body = encoding.encode(TypeMeta::new(kind, "v1"), object);
    LocalReply::new(200, encoding.media_type(), body)
}

/// The document of `/`. With status 404 it also answers a path outside of the served groups, as every API server does.
pub(crate) fn paths(status: u16) -> LocalReply {
    let body = encoding::plain_json(&RootPaths { paths: PATHS });
    LocalReply::new(status, Encoding::Json.media_type(), body)
}

/// The document of `/apis`. In the aggregated format, which kube-apiserver requests once a minute, it lists all resources.
pub(crate) fn groups(sources: &MetricSources<'_>, format: ResponseFormat, if_none_match: &[u8]) -> LocalReply {
    let answer = match format.transform {
        Transform::Aggregated(version) => aggregated::groups(sources, format.encoding, version),
        Transform::None | Transform::Table(_) => {
            let groups = [CUSTOM_GROUP, EXTERNAL_GROUP].map(api_group).into();
            object(format.encoding, "APIGroupList", &ApiGroupList { groups })
        }
    };
    let etag = format!("\"{:016X}\"", hash::of_bytes(&answer.body));
    let reply = if has_tag(if_none_match, &etag) {
        LocalReply::empty(304)
    } else {
        answer
    };
    reply.with("etag", etag).with("vary", "Accept")
}

/// The document of `/apis/GROUP`.
pub(crate) fn group(group: &str, encoding: Encoding) -> LocalReply {
    object(encoding, "APIGroup", &api_group(group))
}

fn api_group(group: &str) -> ApiGroup {
    let versions: Vec<_> = ApiVersion::ALL
        .into_iter()
        .filter(|api| api.group() == group)
        .map(|api| GroupVersionForDiscovery {
            group_version: api.group_version(),
            version: api.version().to_owned(),
        })
        .collect();
    ApiGroup {
        name: group.to_owned(),
        preferred_version: versions.first().cloned(),
        versions,
    }
}

/// The document of `/apis/GROUP/VERSION`: our resources and those of another adapter.
pub(crate) fn resources(sources: &MetricSources<'_>, api: ApiVersion, encoding: Encoding) -> LocalReply {
    let mut resources = served_resources(sources, api);
    let additional: Vec<_> = adapter_resources(sources, api, &resources)
        .into_iter()
        .map(|resource| adapter_entry(resource, api))
        .collect();
    resources.extend(additional);
    let list = ApiResourceList {
        group_version: api.group_version(),
        resources,
    };
    object(encoding, "APIResourceList", &list)
}

/// The document of `/version`.
pub(crate) fn version() -> LocalReply {
    let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
    let version = env!("CARGO_PKG_VERSION");
    document(&format!(
        r#"{{"major":"{major}","minor":"{minor}","gitVersion":"v{version}","gitCommit":"","gitTreeState":"","buildDate":"","goVersion":"","compiler":"rustc","platform":"wasm32"}}"#
    ))
}

fn adapter_entry(resource: &AdapterResource, api: ApiVersion) -> ApiResource {
    ApiResource {
        name: resource.name.clone(),
        singular_name: resource.singular_name.clone(),
        namespaced: resource.namespaced,
        kind: resource.discovery_kind(api).to_owned(),
        verbs: Verbs {
            items: resource.verbs.clone(),
        },
    }
}

/// The resources of another adapter that are listed beside ours.
fn adapter_resources<'a>(
    sources: &MetricSources<'a>,
    api: ApiVersion,
    ours: &[ApiResource],
) -> Vec<&'a AdapterResource> {
    let ours = ours
        .iter()
        .map(|resource| (resource.name.as_str(), resource.namespaced));
    sources.adapter_resources.listed_beside(api, ours)
}

/// The resources that we serve in a version. They follow from the configuration.
fn served_resources(sources: &MetricSources<'_>, api: ApiVersion) -> Vec<ApiResource> {
    match api {
        ApiVersion::ExternalV1Beta1 => external_resources(sources),
        ApiVersion::CustomV1Beta1 | ApiVersion::CustomV1Beta2 => DescribedKind::all(sources.config)
            .iter()
            .flat_map(|kind| custom_resources(sources, api, kind))
            .collect(),
    }
}

fn external_resources(sources: &MetricSources<'_>) -> Vec<ApiResource> {
    let metrics = ServedMetric::all(sources.apis.counting)
        .map(|metric| resource(metric.name().to_owned(), true, &metric.kind(), vec!["get".to_owned()]));
    let item = resource(EXTERNAL_ITEM_RESOURCE.to_owned(), true, EXTERNAL_ITEM_KIND, Vec::new());
    metrics.chain([item]).collect()
}

/// The metrics of a kind of objects, as its subresources. They share one kind: kubectl does not look up subresources by
/// kind.
fn custom_resources(sources: &MetricSources<'_>, api: ApiVersion, kind: &DescribedKind) -> Vec<ApiResource> {
    aliases::names(sources, kind)
        .into_iter()
        .map(|metric| {
            let name = format!("{}/{metric}", kind.name());
            resource(name, kind.is_namespaced(), api.list_kind(), vec!["get".to_owned()])
        })
        .collect()
}

fn resource(name: String, namespaced: bool, kind: &str, verbs: Vec<String>) -> ApiResource {
    ApiResource {
        name,
        singular_name: String::new(),
        namespaced,
        kind: kind.to_owned(),
        verbs: Verbs { items: verbs },
    }
}
