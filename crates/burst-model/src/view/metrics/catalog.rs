//! Which metrics there are, and of which objects: a small list that follows from the configuration alone, so that
//! discovery never depends on what was read.

use crate::config::{Config, MetricsApisConfig};
use crate::index::{HPAS, SERIES, SERVICES};
use crate::kube::{Reads, Resource};
use crate::order::sort_by;
use crate::rates::{Counting, Scope};

/// A metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Metric {
    /// Of the snapshot.
    Load(Load),
    /// Counted by the proxies.
    Rate(Rate, Scope),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    Current,
    Headroom,
    Max,
    Target,
    Utilization,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rate {
    Rejected,
    Requests,
    InFlight,
}

const LOADS: [Load; 5] = [
    Load::Current,
    Load::Headroom,
    Load::Max,
    Load::Target,
    Load::Utilization,
];

impl Metric {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Load(Load::Current) => "burst_current_load",
            Self::Load(Load::Headroom) => "burst_headroom",
            Self::Load(Load::Max) => "burst_max_load",
            Self::Load(Load::Target) => "burst_target_load",
            Self::Load(Load::Utilization) => "burst_utilization",
            Self::Rate(Rate::Rejected, Scope::Cluster) => "burst_rejected_per_second",
            Self::Rate(Rate::Requests, Scope::Cluster) => "burst_requests_per_second",
            Self::Rate(Rate::InFlight, Scope::Cluster) => "burst_requests_in_flight",
            Self::Rate(Rate::Rejected, Scope::Proxy) => "burst_proxy_rejected_per_second",
            Self::Rate(Rate::Requests, Scope::Proxy) => "burst_proxy_requests_per_second",
            Self::Rate(Rate::InFlight, Scope::Proxy) => "burst_proxy_requests_in_flight",
        }
    }

    /// Its kind in discovery: `BurstHeadroom`. No other metric has it, because kubectl goes from the name of a resource
    /// to its kind, and from there to the last resource of that kind.
    pub(super) fn kind(self) -> String {
        let mut kind = String::new();
        for word in self.name().split('_') {
            let start = kind.len();
            kind.push_str(word);
            if let Some(first) = kind.get_mut(start..start.saturating_add(1)) {
                first.make_ascii_uppercase();
            }
        }
        kind
    }

    /// All of them, by name.
    pub(super) fn all(apis: &MetricsApisConfig) -> impl Iterator<Item = Self> {
        let counted = |Counting { scope, in_flight }| {
            let in_flight = in_flight.then_some(Self::Rate(Rate::InFlight, scope));
            [Rate::Rejected, Rate::Requests]
                .map(|rate| Self::Rate(rate, scope))
                .into_iter()
                .chain(in_flight)
        };
        LOADS
            .map(Self::Load)
            .into_iter()
            .chain(apis.counting.into_iter().flat_map(counted))
    }

    /// The metric of exactly that name.
    pub(super) fn named(apis: &MetricsApisConfig, name: &str) -> Option<Self> {
        Self::all(apis).find(|metric| metric.name() == name)
    }
}

/// What custom metrics describe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Described {
    /// The namespace that the path names.
    Namespace,
    /// Objects of a section of the snapshot.
    Objects { section: &'static str, resource: Resource },
    /// Workloads, whose section has the resource's plural name.
    Workloads(Resource),
}

impl Described {
    /// All of them, by name.
    pub(super) fn all(config: &Config) -> Vec<Self> {
        let sources = config
            .content
            .sources
            .iter()
            .filter(|source| source.reads == Reads::Workloads);
        let mut all: Vec<_> = sources.map(|source| Self::Workloads(source.resource.clone())).collect();
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
    pub(super) fn name(&self) -> String {
        match self {
            Self::Namespace => "namespaces".into(),
            Self::Objects { resource, .. } | Self::Workloads(resource) => resource.to_string(),
        }
    }

    /// What one may call them: by the plural or the singular, with the group or without it.
    pub(super) fn is_called(&self, name: &str) -> bool {
        let resource = match self {
            Self::Namespace => return matches!(name, "namespaces" | "namespace"),
            Self::Objects { resource, .. } | Self::Workloads(resource) => resource,
        };
        let (name, group) = name.split_once('.').unwrap_or((name, ""));
        let is_name = name == resource.plural || name.eq_ignore_ascii_case(&resource.kind);
        is_name && (group.is_empty() || group == resource.group)
    }

    /// Group, version and kind.
    pub(super) fn resource(&self) -> Resource {
        match self {
            Self::Namespace => Resource::new("", "v1", "namespaces", "Namespace"),
            Self::Objects { resource, .. } | Self::Workloads(resource) => resource.clone(),
        }
    }

    /// The section of the snapshot.
    pub(super) fn section(&self) -> &str {
        match self {
            Self::Namespace => SERIES,
            Self::Objects { section, .. } => section,
            Self::Workloads(resource) => &resource.plural,
        }
    }

    /// Whether they live in namespaces. The same for every metric of a resource, without a way to have it otherwise:
    /// one that differed would make the API server's garbage collection stand still in the whole cluster.
    pub(super) fn is_namespaced(&self) -> bool {
        *self != Self::Namespace
    }

    /// Whether they have that metric.
    pub(super) fn has(&self, metric: Metric) -> bool {
        match metric {
            Metric::Load(_) => true,
            Metric::Rate(..) => matches!(self, Self::Namespace | Self::Objects { section: SERVICES, .. }),
        }
    }
}
