//! Discovery in one document for all groups. The reference library answers with an empty list, so what its adapters have
//! cannot be found this way.
//! <https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery>

use super::api::Api;
use super::catalog::{Described, Metric};
use super::json::list;
use super::{custom, external};
use crate::config::{Config, MetricsApis};
use crate::view::Answer;

/// `/apis`, in that version of `apidiscovery.k8s.io`.
pub(super) fn groups(config: &Config, apis: &MetricsApis, version: &str) -> Answer {
    let group = |group: &str| {
        let versions = Api::ALL.into_iter().filter(|api| api.group() == group);
        let versions = list(versions.map(|api| self::version(config, apis, api)));
        format!(r#"{{"metadata":{{"name":"{group}","creationTimestamp":null}},"versions":[{versions}]}}"#)
    };
    let items = list([custom::GROUP, external::GROUP].map(group));
    let body = format!(
        r#"{{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/{version}","metadata":{{}},"items":[{items}]}}"#
    );
    let content_type = format!("application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList");
    Answer::new(200, &content_type, format!("{body}\n").into_bytes())
}

fn version(config: &Config, apis: &MetricsApis, api: Api) -> String {
    let resources = match api {
        Api::External => list(Metric::all(apis).map(metric)),
        Api::CustomV1Beta1 | Api::CustomV1Beta2 => list(
            Described::all(config)
                .iter()
                .map(|described| self::described(apis, api, described)),
        ),
    };
    format!(
        r#"{{"version":"{}","resources":[{resources}],"freshness":"Current"}}"#,
        api.version()
    )
}

/// An external metric. With the kind of one value, and not of the list, kubectl can get it in any form.
fn metric(metric: Metric) -> String {
    let (group, name) = (external::GROUP, metric.name());
    format!(
        r#"{{"resource":"{name}","responseKind":{{"group":"{group}","version":"v1beta1","kind":"ExternalMetricValue"}},"scope":"Namespaced","singularResource":"","verbs":["get"]}}"#
    )
}

/// The metrics of a resource, as its subresources. It has no verbs itself, and its empty kind keeps clients from
/// taking it for one of this group.
fn described(apis: &MetricsApis, api: Api, described: &Described) -> String {
    let (group, version) = (api.group(), api.version());
    let subresource = |metric: Metric| {
        let name = metric.name();
        format!(
            r#"{{"subresource":"{name}","responseKind":{{"group":"{group}","version":"{version}","kind":"MetricValueList"}},"verbs":["get"]}}"#
        )
    };
    let subresources = list(
        Metric::all(apis)
            .filter(|metric| described.has(*metric))
            .map(subresource),
    );
    let scope = if described.is_namespaced() {
        "Namespaced"
    } else {
        "Cluster"
    };
    let name = described.name();
    format!(
        r#"{{"resource":"{name}","responseKind":{{"group":"","version":"","kind":""}},"scope":"{scope}","singularResource":"","verbs":[],"subresources":[{subresources}]}}"#
    )
}
