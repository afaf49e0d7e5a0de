//! The kinds of objects that custom metrics describe.
//!
//! They follow from the configuration alone, as the metrics do, so discovery works before the cluster was read.

use burst_kube::{ObjectKind, Resource};
use burst_model::config::Config;
use burst_model::index::{HPAS, PODS, SERIES, SERVICES};
use burst_model::metric::{RequestMetric, ServedMetric};
use burst_model::order::sort_by;

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
        let mut sources = config.content.sources.iter();
        let pods = Self::Objects {
            section: PODS,
            resource: Resource::pods(),
        };
        all.extend(sources.any(|source| source.kind == ObjectKind::Pods).then_some(pods));
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
        let section = match self {
            Self::Objects { section, .. } => Some(*section),
            Self::Namespace | Self::Workloads(_) => None,
        };
        match (metric, section) {
            // Which pod will answer is not known while a request is in flight.
            (ServedMetric::Requests(metric, _), Some(PODS)) => metric != RequestMetric::InFlight,
            (ServedMetric::Replicas(_), Some(PODS)) => false,
            (ServedMetric::Replicas(_), _) => true,
            (ServedMetric::Requests(..), section) => section == Some(SERVICES) || *self == Self::Namespace,
        }
    }
}
