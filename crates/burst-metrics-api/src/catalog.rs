//! The metrics that are served, and the kinds of objects that they describe.
//!
//! Both follow from the configuration alone, so discovery works before the cluster was read.

use burst_kube::{ObjectKind, Resource};
use burst_model::config::{Config, MetricsApisConfig};
use burst_model::index::{HPAS, SERIES, SERVICES};
use burst_model::order::sort_by;
use burst_model::request_rates::{CountingSettings, RateScope};

/// A metric that is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServedMetric {
    /// From the snapshot.
    Replicas(ReplicaMetric),
    /// From the requests that the proxies count.
    Requests(RequestMetric, RateScope),
}

/// A metric of the replicas of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplicaMetric {
    Current,
    Headroom,
    Max,
    Target,
    Utilization,
}

/// A metric of the requests to a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestMetric {
    Rejected,
    Requests,
    InFlight,
}

const REPLICA_METRICS: [ReplicaMetric; 5] = [
    ReplicaMetric::Current,
    ReplicaMetric::Headroom,
    ReplicaMetric::Max,
    ReplicaMetric::Target,
    ReplicaMetric::Utilization,
];

impl ServedMetric {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Replicas(ReplicaMetric::Current) => "burst_current_load",
            Self::Replicas(ReplicaMetric::Headroom) => "burst_headroom",
            Self::Replicas(ReplicaMetric::Max) => "burst_max_load",
            Self::Replicas(ReplicaMetric::Target) => "burst_target_load",
            Self::Replicas(ReplicaMetric::Utilization) => "burst_utilization",
            Self::Requests(RequestMetric::Rejected, RateScope::Cluster) => "burst_rejected_per_second",
            Self::Requests(RequestMetric::Requests, RateScope::Cluster) => "burst_requests_per_second",
            Self::Requests(RequestMetric::InFlight, RateScope::Cluster) => "burst_requests_in_flight",
            Self::Requests(RequestMetric::Rejected, RateScope::Proxy) => "burst_proxy_rejected_per_second",
            Self::Requests(RequestMetric::Requests, RateScope::Proxy) => "burst_proxy_requests_per_second",
            Self::Requests(RequestMetric::InFlight, RateScope::Proxy) => "burst_proxy_requests_in_flight",
        }
    }

    /// The kind in discovery: `BurstHeadroom`. Each metric has its own, because kubectl goes from the name of a resource
    /// to its kind, and from there to the last resource of that kind.
    pub(crate) fn kind(self) -> String {
        let mut kind = String::new();
        for part in self.name().split('_') {
            let start = kind.len();
            kind.push_str(part);
            if let Some(first) = kind.get_mut(start..start.saturating_add(1)) {
                first.make_ascii_uppercase();
            }
        }
        kind
    }

    /// All metrics, sorted by name.
    pub(crate) fn all(apis: &MetricsApisConfig) -> impl Iterator<Item = Self> {
        let replica_metrics = REPLICA_METRICS.map(Self::Replicas);
        let request_metrics = apis.counting.into_iter().flat_map(Self::counted);
        replica_metrics.into_iter().chain(request_metrics)
    }

    fn counted(CountingSettings { scope, in_flight }: CountingSettings) -> impl Iterator<Item = Self> {
        [RequestMetric::Rejected, RequestMetric::Requests]
            .into_iter()
            .chain(in_flight.then_some(RequestMetric::InFlight))
            .map(move |metric| Self::Requests(metric, scope))
    }

    /// The metric with exactly this name.
    pub(crate) fn find(apis: &MetricsApisConfig, name: &str) -> Option<Self> {
        Self::all(apis).find(|metric| metric.name() == name)
    }

    /// The external metric with this name, in any case: client-go lowers it. Our names may be written with a slash in the
    /// place of the first underscore: `burst/headroom`. Clients write a slash as `\|` or `|` as well.
    pub(crate) fn find_external(apis: &MetricsApisConfig, name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase().replace("\\|", "/").replace('|', "/");
        Self::all(apis).find(|metric| metric.name() == name || metric.name().replacen('_', "/", 1) == name)
    }
}

/// A kind of objects that custom metrics describe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DescribedKind {
    /// Namespaces.
    Namespace,
    /// The objects of a section of the snapshot.
    Objects { section: &'static str, resource: Resource },
    /// Workloads. The section of the snapshot has the plural name of the resource.
    Workloads(Resource),
}

impl DescribedKind {
    /// All kinds, sorted by name.
    pub(crate) fn all(config: &Config) -> Vec<Self> {
        let sources = config.content.sources.iter();
        let mut all: Vec<_> = sources
            .filter(|source| source.kind == ObjectKind::Workloads)
            .map(|source| Self::Workloads(source.resource.clone()))
            .collect();
        all.extend([
            Self::Namespace,
            Self::Objects {
                section: SERVICES,
                resource: Resource::services(),
            },
            Self::Objects {
                section: HPAS,
                resource: Resource::hpas(),
            },
        ]);
        sort_by(&mut all, |a, b| a.name().cmp(&b.name()));
        all.dedup();
        all
    }

    /// The group-qualified name: `deployments.apps`.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Namespace => "namespaces".into(),
            Self::Objects { resource, .. } | Self::Workloads(resource) => resource.to_string(),
        }
    }

    /// Returns whether a path may use this name: the plural or the singular, with or without the group.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        let resource = match self {
            Self::Namespace => return matches!(name, "namespaces" | "namespace"),
            Self::Objects { resource, .. } | Self::Workloads(resource) => resource,
        };
        let (name, group) = name.split_once('.').unwrap_or((name, ""));
        let is_name = name == resource.plural || name.eq_ignore_ascii_case(&resource.kind);
        is_name && (group.is_empty() || group == resource.group)
    }

    /// The resource, with its group, version and kind.
    pub(crate) fn resource(&self) -> Resource {
        match self {
            Self::Namespace => Resource::new("", "v1", "namespaces", "Namespace"),
            Self::Objects { resource, .. } | Self::Workloads(resource) => resource.clone(),
        }
    }

    /// The section of the snapshot.
    pub(crate) fn section(&self) -> &str {
        match self {
            Self::Namespace => SERIES,
            Self::Objects { section, .. } => section,
            Self::Workloads(resource) => &resource.plural,
        }
    }

    /// Returns whether the objects are namespaced. This must not depend on the metric: subresources of one resource with
    /// different scopes would stop the API server's garbage collection for the whole cluster.
    pub(crate) fn is_namespaced(&self) -> bool {
        *self != Self::Namespace
    }

    /// Returns whether the objects have this metric.
    pub(crate) fn has(&self, metric: ServedMetric) -> bool {
        match metric {
            ServedMetric::Replicas(_) => true,
            ServedMetric::Requests(..) => matches!(self, Self::Namespace | Self::Objects { section: SERVICES, .. }),
        }
    }
}
