//! Metrics: where a value comes from and how it is compared.

use k8s_openapi::api::autoscaling::v2::{
    CrossVersionObjectReference, MetricIdentifier, MetricSpec, MetricStatus, MetricValueStatus,
};

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

/// Where the value of one metric comes from. The metric of a spec and its value in the status have the same source.
#[derive(Clone, Debug, PartialEq)]
pub enum MetricSource {
    /// CPU or memory of whole pods.
    Resource {
        /// The resource, such as `cpu`.
        name: String,
    },
    /// CPU or memory of one container of each pod.
    ContainerResource {
        /// The resource, such as `cpu`.
        name: String,
        /// The container.
        container: String,
    },
    /// A value that each pod has.
    Pods {
        /// The metric, with its selector.
        metric: MetricIdentifier,
    },
    /// A value that describes one Kubernetes object.
    Object {
        /// The metric, with its selector.
        metric: MetricIdentifier,
        /// The described object.
        object: CrossVersionObjectReference,
    },
    /// A series that belongs to no Kubernetes object.
    External {
        /// The metric, with its selector.
        metric: MetricIdentifier,
    },
}

impl MetricSource {
    /// Returns the source of a metric of a spec, or `None` if no source is set. The field that is set decides, and not `type`.
    #[must_use]
    pub fn of_spec(metric: &MetricSpec) -> Option<Self> {
        Some(if let Some(source) = &metric.resource {
            Self::resource(&source.name)
        } else if let Some(source) = &metric.container_resource {
            Self::container_resource(&source.name, &source.container)
        } else if let Some(source) = &metric.pods {
            Self::pods(&source.metric)
        } else if let Some(source) = &metric.object {
            Self::object(&source.metric, &source.described_object)
        } else {
            Self::external(&metric.external.as_ref()?.metric)
        })
    }

    /// Returns the source of a metric of a status with its value, or `None` if no source is set.
    pub(crate) fn of_status(metric: &MetricStatus) -> Option<(Self, &MetricValueStatus)> {
        Some(if let Some(source) = &metric.resource {
            (Self::resource(&source.name), &source.current)
        } else if let Some(source) = &metric.container_resource {
            (
                Self::container_resource(&source.name, &source.container),
                &source.current,
            )
        } else if let Some(source) = &metric.pods {
            (Self::pods(&source.metric), &source.current)
        } else if let Some(source) = &metric.object {
            (Self::object(&source.metric, &source.described_object), &source.current)
        } else {
            let source = metric.external.as_ref()?;
            (Self::external(&source.metric), &source.current)
        })
    }

    /// Returns the type of the source.
    #[must_use]
    pub fn source_type(&self) -> SourceType {
        match self {
            Self::Resource { .. } => SourceType::Resource,
            Self::ContainerResource { .. } => SourceType::ContainerResource,
            Self::Pods { .. } => SourceType::Pods,
            Self::Object { .. } => SourceType::Object,
            Self::External { .. } => SourceType::External,
        }
    }

    /// Returns the name of the resource or of the metric.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Resource { name } | Self::ContainerResource { name, .. } => name,
            Self::Pods { metric } | Self::Object { metric, .. } | Self::External { metric } => &metric.name,
        }
    }

    fn resource(name: &str) -> Self {
        Self::Resource { name: name.to_owned() }
    }

    fn container_resource(name: &str, container: &str) -> Self {
        Self::ContainerResource {
            name: name.to_owned(),
            container: container.to_owned(),
        }
    }

    fn pods(metric: &MetricIdentifier) -> Self {
        Self::Pods { metric: metric.clone() }
    }

    fn object(metric: &MetricIdentifier, object: &CrossVersionObjectReference) -> Self {
        Self::Object {
            metric: metric.clone(),
            object: object.clone(),
        }
    }

    fn external(metric: &MetricIdentifier) -> Self {
        Self::External { metric: metric.clone() }
    }
}
