//! Discovery: the documents in which a Kubernetes API server lists its resources.
//! <https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api>

mod aggregated;

use crate::accept::ResponseFormat;
use crate::adapters::AdapterResource;
use crate::api_version::{ApiVersion, CUSTOM_GROUP, EXTERNAL_GROUP};
use crate::catalog::{DescribedKind, ServedMetric};
use crate::json::{JsonString, comma_separated};
use crate::sources::MetricSources;
use burst_model::hash;
use burst_model::serve::{LocalReply, has_tag};

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

/// A JSON document.
pub(crate) fn document(body: &str) -> LocalReply {
    document_with_status(200, body)
}

fn document_with_status(status: u16, body: &str) -> LocalReply {
    LocalReply::new(status, "application/json", format!("{body}\n").into_bytes())
}

/// The document of `/`. With status 404 it also answers a path outside of the served groups, as every API server does.
pub(crate) fn paths(status: u16) -> LocalReply {
    let paths = comma_separated(PATHS.map(|path| format!("\"{path}\"")));
    document_with_status(status, &format!("{{\"paths\":[{paths}]}}"))
}

/// The document of `/apis`. In the aggregated format, which kube-apiserver requests once a minute, it lists all resources.
pub(crate) fn groups(sources: &MetricSources<'_>, format: ResponseFormat, if_none_match: &[u8]) -> LocalReply {
    let answer = match format {
        ResponseFormat::Aggregated(version) => aggregated::groups(sources, version),
        ResponseFormat::Json | ResponseFormat::Table(_) => group_list(),
    };
    let etag = format!("\"{:016X}\"", hash::of_bytes(&answer.body));
    let reply = if has_tag(if_none_match, &etag) {
        LocalReply::empty(304)
    } else {
        answer
    };
    reply.with("etag", etag).with("vary", "Accept")
}

fn group_list() -> LocalReply {
    let groups = [CUSTOM_GROUP, EXTERNAL_GROUP].map(|group| format!("{{{}}}", group_fields(group)));
    document(&format!(
        r#"{{"kind":"APIGroupList","apiVersion":"v1","groups":[{}]}}"#,
        comma_separated(groups)
    ))
}

/// The document of `/apis/GROUP`.
pub(crate) fn group(group: &str) -> LocalReply {
    document(&format!(
        r#"{{"kind":"APIGroup","apiVersion":"v1",{}}}"#,
        group_fields(group)
    ))
}

fn group_fields(group: &str) -> String {
    let items: Vec<_> = ApiVersion::ALL
        .into_iter()
        .filter(|api| api.group() == group)
        .map(|api| format!(r#"{{"groupVersion":"{group}/{0}","version":"{0}"}}"#, api.version()))
        .collect();
    let preferred = items.first().cloned().unwrap_or_default();
    let versions = comma_separated(items);
    format!(r#""name":"{group}","versions":[{versions}],"preferredVersion":{preferred}"#)
}

/// The document of `/apis/GROUP/VERSION`: our resources and those of another adapter.
pub(crate) fn resources(sources: &MetricSources<'_>, api: ApiVersion) -> LocalReply {
    let served = served_resources(sources, api);
    let adapter_entries = adapter_resources(sources, api, &served)
        .into_iter()
        .map(|resource| adapter_entry(resource, api));
    let resources = comma_separated(served.iter().map(ApiResource::entry).chain(adapter_entries));
    document(&format!(
        r#"{{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"{}/{}","resources":[{resources}]}}"#,
        api.group(),
        api.version()
    ))
}

/// The document of `/version`.
pub(crate) fn version() -> LocalReply {
    let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
    let version = env!("CARGO_PKG_VERSION");
    document(&format!(
        r#"{{"major":"{major}","minor":"{minor}","gitVersion":"v{version}","gitCommit":"","gitTreeState":"","buildDate":"","goVersion":"","compiler":"rustc","platform":"wasm32"}}"#
    ))
}

/// A resource that we serve.
#[derive(Debug)]
struct ApiResource {
    name: String,
    namespaced: bool,
    kind: String,
    is_metric: bool,
}

impl ApiResource {
    /// The verbs as JSON strings: a metric has `get`, any other resource has none.
    fn verbs(&self) -> &'static str {
        if self.is_metric { r#""get""# } else { "" }
    }

    fn entry(&self) -> String {
        let Self {
            name, namespaced, kind, ..
        } = self;
        let verbs = self.verbs();
        format!(r#"{{"name":"{name}","singularName":"","namespaced":{namespaced},"kind":"{kind}","verbs":[{verbs}]}}"#)
    }
}

fn adapter_entry(resource: &AdapterResource, api: ApiVersion) -> String {
    let namespaced = resource.namespaced;
    let kind = resource.discovery_kind(api);
    let [name, singular_name, kind] = [&resource.name, &resource.singular_name, kind].map(JsonString);
    let verbs = comma_separated(resource.verbs.iter().map(|verb| JsonString(verb)));
    format!(
        r#"{{"name":{name},"singularName":{singular_name},"namespaced":{namespaced},"kind":{kind},"verbs":[{verbs}]}}"#
    )
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
    let metrics = ServedMetric::all(sources.apis).map(|metric| ApiResource {
        name: metric.name().to_owned(),
        namespaced: true,
        kind: metric.kind(),
        is_metric: true,
    });
    let item = ApiResource {
        name: EXTERNAL_ITEM_RESOURCE.to_owned(),
        namespaced: true,
        kind: EXTERNAL_ITEM_KIND.to_owned(),
        is_metric: false,
    };
    metrics.chain([item]).collect()
}

/// The metrics of a kind of objects, as its subresources. They share one kind: kubectl does not look up subresources by
/// kind.
fn custom_resources(sources: &MetricSources<'_>, api: ApiVersion, kind: &DescribedKind) -> Vec<ApiResource> {
    ServedMetric::all(sources.apis)
        .filter(|metric| kind.has(*metric))
        .map(|metric| ApiResource {
            name: format!("{}/{}", kind.name(), metric.name()),
            namespaced: kind.is_namespaced(),
            kind: api.list_kind().to_owned(),
            is_metric: true,
        })
        .collect()
}
