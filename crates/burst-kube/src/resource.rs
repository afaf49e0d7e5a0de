//! The resources that the filter reads, and the paths to list and watch them.

use crate::name::Name;
use crate::signal::SignalSet;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The characters that are escaped in a query value: all but the unreserved characters of RFC 3986.
const QUERY_VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A resource of the Kubernetes API.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Resource {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version within the group.
    pub version: String,
    /// The name in paths: `deployments`.
    pub plural: String,
    /// The name in objects: `Deployment`.
    pub kind: String,
}

impl Resource {
    /// Creates a resource from its group, version, plural name and kind.
    #[must_use]
    pub fn new(group: &str, version: &str, plural: &str, kind: &str) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
            plural: plural.into(),
            kind: kind.into(),
        }
    }

    /// Returns whether the resource may come from a CustomResourceDefinition, and so may be absent from a healthy
    /// cluster. The group of a CustomResourceDefinition must contain a dot.
    #[must_use]
    pub fn is_custom(&self) -> bool {
        self.group.contains('.')
    }

    /// `autoscaling/v2` HorizontalPodAutoscalers.
    #[must_use]
    pub fn hpas() -> Self {
        Self::new(
            "autoscaling",
            "v2",
            "horizontalpodautoscalers",
            "HorizontalPodAutoscaler",
        )
    }

    /// Core Services.
    #[must_use]
    pub fn services() -> Self {
        Self::new("", "v1", "services", "Service")
    }

    /// `apps/v1` Deployments.
    #[must_use]
    pub fn deployments() -> Self {
        Self::new("apps", "v1", "deployments", "Deployment")
    }

    /// ExternalMetricPolicies, a kind of this project.
    #[must_use]
    pub fn external_metric_policies() -> Self {
        Self::new(
            "burstmetrics.dev",
            "v1alpha1",
            "externalmetricpolicies",
            "ExternalMetricPolicy",
        )
    }

    /// `discovery.k8s.io/v1` EndpointSlices.
    #[must_use]
    pub fn endpoint_slices() -> Self {
        Self::new("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
    }

    /// Core Pods.
    #[must_use]
    pub fn pods() -> Self {
        Self::new("", "v1", "pods", "Pod")
    }

    /// `apps/v1` StatefulSets.
    #[must_use]
    pub fn statefulsets() -> Self {
        Self::new("apps", "v1", "statefulsets", "StatefulSet")
    }
}

/// The group-qualified name that RBAC and kubectl use: `deployments.apps`, `services`.
impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.plural)?;
        if self.group.is_empty() {
            Ok(())
        } else {
            write!(f, ".{}", self.group)
        }
    }
}

/// Which fields of an object are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// The scale target and the replica counts.
    Hpas,
    /// The selector.
    Services,
    /// The labels of the pod template, for any kind that has one.
    Workloads,
    /// All of the spec.
    Policies,
    /// The addresses, and the pod behind each.
    EndpointSlices,
    /// The labels. Only the metadata of the objects is requested.
    Pods,
}

/// The verb of a request, as in an RBAC role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verb {
    /// Read a page of all objects.
    List,
    /// Read the changes of some seconds.
    Watch,
}

/// Writes the verb as a role has it.
impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::List => "list",
            Self::Watch => "watch",
        })
    }
}

/// Where a stream of changes begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamStart<'a> {
    /// With an event of type ADDED for each object that there is, and then a bookmark that ends the initial events.
    WatchList,
    /// After this resource version.
    From(&'a str),
}

/// One list: the objects of a resource in one namespace or in all of them, narrowed by selectors.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// Which fields of its objects are read.
    pub kind: ObjectKind,
    /// The resource.
    pub resource: Resource,
    /// The namespace; `None` for all of them.
    pub namespace: Option<Name>,
    /// `labelSelector`, as the API takes it.
    pub label_selector: Option<String>,
    /// `fieldSelector`, as the API takes it.
    pub field_selector: Option<String>,
    /// Which further fields of its objects are read.
    pub kept: KeptFields,
}

/// The fields of an object that only some configurations need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct KeptFields {
    /// Whether the objects' own labels are read.
    pub labels: bool,
    /// The signals that are read.
    pub signals: SignalSet,
}

impl Source {
    /// All objects of a resource, in all namespaces.
    #[must_use]
    pub fn all_namespaces(kind: ObjectKind, resource: Resource) -> Self {
        Self {
            kind,
            resource,
            namespace: None,
            label_selector: None,
            field_selector: None,
            kept: KeptFields::default(),
        }
    }

    /// The same list, of whose objects the own labels are not read.
    #[must_use]
    pub fn without_labels(&self) -> Self {
        let kept = KeptFields {
            labels: false,
            ..self.kept
        };
        Self { kept, ..self.clone() }
    }

    /// Returns whether the resource may be absent from a healthy cluster. If it is, treat the list as empty: an
    /// operator may configure a kind before its CRD is installed.
    #[must_use]
    pub fn may_be_absent(&self) -> bool {
        matches!(self.kind, ObjectKind::Workloads | ObjectKind::Policies) && self.resource.is_custom()
    }

    /// Returns the path and query for a page of at most `limit` objects that starts at `continue_token`.
    /// <https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks>
    #[must_use]
    pub fn list_path(&self, limit: u32, continue_token: Option<&str>) -> String {
        let mut path = format!("{}?limit={limit}", self.collection());
        self.push_query(&mut path, ("continue", continue_token));
        path
    }

    /// Returns the path and query to watch the changes since `resource_version`. The server ends it after
    /// `timeout_seconds`.
    /// <https://kubernetes.io/docs/reference/using-api/api-concepts/#watch-bookmarks>
    #[must_use]
    pub fn watch_path(&self, resource_version: &str, timeout_seconds: u64) -> String {
        let collection = self.collection();
        let mut path = format!("{collection}?watch=1&allowWatchBookmarks=true&timeoutSeconds={timeout_seconds}");
        self.push_query(&mut path, ("resourceVersion", Some(resource_version)));
        path
    }

    /// Returns the path and query of a watch that is read as it arrives. The server ends it after `timeout_seconds`.
    /// <https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists>
    #[must_use]
    pub fn stream_path(&self, from: StreamStart<'_>, timeout_seconds: u64) -> String {
        let resource_version = match from {
            StreamStart::From(resource_version) => return self.watch_path(resource_version, timeout_seconds),
            StreamStart::WatchList => "",
        };
        let collection = self.collection();
        let mut path = format!(
            "{collection}?watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan\
             &timeoutSeconds={timeout_seconds}"
        );
        self.push_query(&mut path, ("resourceVersion", Some(resource_version)));
        path
    }

    /// Returns the `Accept` header of a request. Of a Pod only the metadata is requested, so that its spec never reaches
    /// the proxy. An API server that cannot answer in this form refuses the request.
    /// <https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches>
    #[must_use]
    pub fn accept(&self, verb: Verb) -> &'static str {
        match (self.kind, verb) {
            (ObjectKind::Pods, Verb::List) => "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            (ObjectKind::Pods, Verb::Watch) => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            _ => "application/json",
        }
    }

    /// Returns the `kind` of a list.
    #[must_use]
    pub fn list_kind(&self) -> String {
        match self.kind {
            ObjectKind::Pods => "PartialObjectMetadataList".to_owned(),
            _ => format!("{}List", self.resource.kind),
        }
    }

    fn collection(&self) -> String {
        let Resource {
            group, version, plural, ..
        } = &self.resource;
        let root = if group.is_empty() {
            format!("/api/{version}")
        } else {
            format!("/apis/{group}/{version}")
        };
        let namespace = self.namespace.as_ref().map(|name| format!("/namespaces/{name}"));
        format!("{root}{}/{plural}", namespace.unwrap_or_default())
    }

    fn push_query(&self, path: &mut String, last: (&str, Option<&str>)) {
        let query = [
            ("labelSelector", self.label_selector.as_deref()),
            ("fieldSelector", self.field_selector.as_deref()),
            last,
        ];
        for (key, value) in query.iter().filter_map(|(key, value)| Some((key, (*value)?))) {
            path.push_str(&format!("&{key}={}", utf8_percent_encode(value, QUERY_VALUE)));
        }
    }
}

/// `deployments.apps` or `deployments.apps in namespace shop`, for log lines.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.resource.fmt(f)?;
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace {namespace}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(resource: Resource) -> Source {
        Source::all_namespaces(ObjectKind::Workloads, resource)
    }

    #[test]
    fn paths_follow_the_api_conventions() {
        assert_eq!(
            source(Resource::services()).list_path(500, None),
            "/api/v1/services?limit=500"
        );
        let shop = Source {
            namespace: Some(Name::parse("shop").unwrap()),
            label_selector: Some("app in (a,b)".into()),
            field_selector: Some("metadata.name!=x".into()),
            ..source(Resource::deployments())
        };
        assert_eq!(
            shop.list_path(10, Some("a/b=&")),
            "/apis/apps/v1/namespaces/shop/deployments?limit=10&labelSelector=app%20in%20%28a%2Cb%29\
             &fieldSelector=metadata.name%21%3Dx&continue=a%2Fb%3D%26"
        );
        assert_eq!(
            shop.watch_path("71", 5),
            "/apis/apps/v1/namespaces/shop/deployments?watch=1&allowWatchBookmarks=true&timeoutSeconds=5\
             &labelSelector=app%20in%20%28a%2Cb%29&fieldSelector=metadata.name%21%3Dx&resourceVersion=71"
        );
        assert_eq!(
            shop.stream_path(StreamStart::From("71"), 480),
            "/apis/apps/v1/namespaces/shop/deployments?watch=1&allowWatchBookmarks=true&timeoutSeconds=480\
             &labelSelector=app%20in%20%28a%2Cb%29&fieldSelector=metadata.name%21%3Dx&resourceVersion=71"
        );
        assert_eq!(
            shop.stream_path(StreamStart::WatchList, 480),
            "/apis/apps/v1/namespaces/shop/deployments?watch=1&allowWatchBookmarks=true&sendInitialEvents=true\
             &resourceVersionMatch=NotOlderThan&timeoutSeconds=480&labelSelector=app%20in%20%28a%2Cb%29\
             &fieldSelector=metadata.name%21%3Dx&resourceVersion="
        );
        assert_eq!(
            source(Resource::services()).stream_path(StreamStart::WatchList, 300),
            "/api/v1/services?watch=1&allowWatchBookmarks=true&sendInitialEvents=true\
             &resourceVersionMatch=NotOlderThan&timeoutSeconds=300&resourceVersion="
        );
    }

    #[test]
    fn of_pods_only_the_metadata_is_requested() {
        let pods = Source::all_namespaces(ObjectKind::Pods, Resource::pods());
        assert_eq!(
            [Verb::List, Verb::Watch].map(|verb| pods.accept(verb)),
            [
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
                "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            ]
        );
        assert_eq!(pods.list_kind(), "PartialObjectMetadataList");
        let slices = Source::all_namespaces(ObjectKind::EndpointSlices, Resource::endpoint_slices());
        assert_eq!(slices.accept(Verb::Watch), "application/json");
        assert_eq!(slices.list_kind(), "EndpointSliceList");
        assert_eq!(
            slices.list_path(500, None),
            "/apis/discovery.k8s.io/v1/endpointslices?limit=500"
        );
    }

    #[test]
    fn a_source_is_displayed_with_its_rbac_name() {
        let shop = Source {
            namespace: Some(Name::parse("shop").unwrap()),
            ..source(Resource::hpas())
        };
        assert_eq!(
            shop.to_string(),
            "horizontalpodautoscalers.autoscaling in namespace shop"
        );
        assert_eq!(source(Resource::services()).to_string(), "services");
    }
}
