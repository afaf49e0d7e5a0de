//! The enumerations of metrics: where a value comes from and how it is compared.

use crate::string_enum::closed;

closed! {
    /// Where a metric's value comes from: `spec.metrics[].type`.
    SourceType {
        /// CPU or memory of one container of each pod.
        ContainerResource,
        /// A series that belongs to no Kubernetes object, from `external.metrics.k8s.io`.
        External,
        /// A value that describes one Kubernetes object, from `custom.metrics.k8s.io`.
        Object,
        /// A value that each pod has, from `custom.metrics.k8s.io`.
        Pods,
        /// CPU or memory of whole pods, from `metrics.k8s.io`.
        Resource,
    }
}

closed! {
    /// How a metric is compared: `target.type`.
    TargetType {
        /// Percent of the requests of the containers.
        Utilization,
        /// The value itself.
        Value,
        /// The value divided by the number of pods.
        AverageValue,
    }
}

/// A resource that `metrics.k8s.io` serves. A `Resource` or `ContainerResource` metric can have no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// Cores.
    Cpu,
    /// Bytes.
    Memory,
}

impl Resource {
    /// The name in `metrics[].resource.name` and in a container's requests.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Cpu, Self::Memory]
            .into_iter()
            .find(|resource| resource.as_str() == name)
    }
}
