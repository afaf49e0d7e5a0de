//! The five metric sources, each with the targets that Kubernetes allows for it.

use k8s_openapi::api::autoscaling::v2::{
    ContainerResourceMetricSource, ExternalMetricSource, MetricIdentifier, MetricSpec, MetricTarget,
    ObjectMetricSource, PodsMetricSource, ResourceMetricSource,
};

use super::{ObjectReference, Selector};
use crate::metric::{Resource, SourceType, TargetType};
use crate::quantity::{ParseQuantityError, Quantity};

/// The usage in percent of the requests. It can be above 100 if the limits are above the requests.
#[derive(Clone, Copy, Debug)]
pub struct Utilization(pub i32);

/// The value of the metric, divided by the number of pods.
#[derive(Clone, Debug)]
pub struct AverageValue(Quantity);

/// The value of the metric itself.
#[derive(Clone, Debug)]
pub struct Value(Quantity);

impl AverageValue {
    /// Creates a target from a whole number or a [`Quantity`].
    pub fn new(value: impl Into<Quantity>) -> Self {
        Self(value.into())
    }

    /// Parses a quantity, such as `100m` or `1Gi`.
    ///
    /// # Errors
    /// Fails if the text is not a quantity.
    pub fn parse(text: &str) -> Result<Self, ParseQuantityError> {
        text.parse().map(Self)
    }
}

impl Value {
    /// Creates a target from a whole number or a [`Quantity`].
    pub fn new(value: impl Into<Quantity>) -> Self {
        Self(value.into())
    }

    /// Parses a quantity, such as `100m` or `1Gi`.
    ///
    /// # Errors
    /// Fails if the text is not a quantity.
    pub fn parse(text: &str) -> Result<Self, ParseQuantityError> {
        text.parse().map(Self)
    }
}

/// A target for CPU or memory: [`Utilization`] or [`AverageValue`].
#[derive(Clone, Debug)]
pub struct ResourceTarget(MetricTarget);

/// A target for an `Object` or `External` metric: [`Value`] or [`AverageValue`].
#[derive(Clone, Debug)]
pub struct SeriesTarget(MetricTarget);

impl From<Utilization> for ResourceTarget {
    fn from(Utilization(percent): Utilization) -> Self {
        Self(MetricTarget {
            average_utilization: Some(percent),
            ..target(TargetType::Utilization)
        })
    }
}

impl From<AverageValue> for ResourceTarget {
    fn from(average: AverageValue) -> Self {
        Self(average.target())
    }
}

impl From<AverageValue> for SeriesTarget {
    fn from(average: AverageValue) -> Self {
        Self(average.target())
    }
}

impl From<Value> for SeriesTarget {
    fn from(Value(value): Value) -> Self {
        Self(MetricTarget {
            value: Some(value.into()),
            ..target(TargetType::Value)
        })
    }
}

impl AverageValue {
    fn target(self) -> MetricTarget {
        MetricTarget {
            average_value: Some(self.0.into()),
            ..target(TargetType::AverageValue)
        }
    }
}

fn target(target_type: TargetType) -> MetricTarget {
    MetricTarget {
        type_: target_type.to_string(),
        ..MetricTarget::default()
    }
}

/// A metric: one of the five sources, with its target.
#[derive(Clone, Debug)]
pub struct Metric {
    source_type: SourceType,
    spec: MetricSpec,
}

impl Metric {
    fn new(source_type: SourceType, spec: MetricSpec) -> Self {
        let type_ = source_type.to_string();
        Self {
            source_type,
            spec: MetricSpec { type_, ..spec },
        }
    }

    /// Returns the type of the source.
    #[must_use]
    pub fn source_type(&self) -> SourceType {
        self.source_type
    }

    /// Returns the metric as the spec of an HPA has it.
    #[must_use]
    pub fn spec(&self) -> &MetricSpec {
        &self.spec
    }
}

/// CPU or memory of whole pods. With a [`Utilization`] target, every container must request the resource.
#[derive(Clone, Debug)]
pub struct ResourceMetric(ResourceMetricSource);

impl ResourceMetric {
    /// Creates a metric from the resource and its target.
    pub fn new(resource: Resource, target: impl Into<ResourceTarget>) -> Self {
        Self(ResourceMetricSource {
            name: resource.as_str().to_owned(),
            target: target.into().0,
        })
    }
}

impl From<ResourceMetric> for Metric {
    fn from(metric: ResourceMetric) -> Self {
        let spec = MetricSpec {
            resource: Some(metric.0),
            ..MetricSpec::default()
        };
        Self::new(SourceType::Resource, spec)
    }
}

/// CPU or memory of one container of each pod. The other containers do not count and need no request.
#[derive(Clone, Debug)]
pub struct ContainerResourceMetric(ContainerResourceMetricSource);

impl ContainerResourceMetric {
    /// Creates a metric from the container, the resource and its target.
    pub fn new(container: impl Into<String>, resource: Resource, target: impl Into<ResourceTarget>) -> Self {
        let name = resource.as_str().to_owned();
        Self(ContainerResourceMetricSource {
            container: container.into(),
            name,
            target: target.into().0,
        })
    }
}

impl From<ContainerResourceMetric> for Metric {
    fn from(metric: ContainerResourceMetric) -> Self {
        let spec = MetricSpec {
            container_resource: Some(metric.0),
            ..MetricSpec::default()
        };
        Self::new(SourceType::ContainerResource, spec)
    }
}

/// A metric of each pod from `custom.metrics.k8s.io`, averaged over the pods.
#[derive(Clone, Debug)]
pub struct PodsMetric(PodsMetricSource);

impl PodsMetric {
    /// Creates a metric from its name and the target average.
    pub fn new(name: impl Into<String>, AverageValue(value): AverageValue) -> Self {
        Self(PodsMetricSource {
            metric: identifier(name),
            target: AverageValue(value).target(),
        })
    }

    /// Selects series of the metric by their labels.
    #[must_use]
    pub fn selector(mut self, selector: Selector) -> Self {
        self.0.metric.selector = Some(selector.0);
        self
    }
}

impl From<PodsMetric> for Metric {
    fn from(metric: PodsMetric) -> Self {
        let spec = MetricSpec {
            pods: Some(metric.0),
            ..MetricSpec::default()
        };
        Self::new(SourceType::Pods, spec)
    }
}

/// A metric of one Kubernetes object from `custom.metrics.k8s.io`.
#[derive(Clone, Debug)]
pub struct ObjectMetric(ObjectMetricSource);

impl ObjectMetric {
    /// Creates a metric from the object, the name of the metric and its target.
    pub fn new(object: ObjectReference, name: impl Into<String>, target: impl Into<SeriesTarget>) -> Self {
        let target = target.into().0;
        Self(ObjectMetricSource {
            described_object: object.0,
            metric: identifier(name),
            target,
        })
    }

    /// Selects series of the metric by their labels.
    #[must_use]
    pub fn selector(mut self, selector: Selector) -> Self {
        self.0.metric.selector = Some(selector.0);
        self
    }
}

impl From<ObjectMetric> for Metric {
    fn from(metric: ObjectMetric) -> Self {
        let spec = MetricSpec {
            object: Some(metric.0),
            ..MetricSpec::default()
        };
        Self::new(SourceType::Object, spec)
    }
}

/// A metric from `external.metrics.k8s.io` that belongs to no Kubernetes object. The controller adds up several series.
#[derive(Clone, Debug)]
pub struct ExternalMetric(ExternalMetricSource);

impl ExternalMetric {
    /// Creates a metric from its name and its target.
    pub fn new(name: impl Into<String>, target: impl Into<SeriesTarget>) -> Self {
        Self(ExternalMetricSource {
            metric: identifier(name),
            target: target.into().0,
        })
    }

    /// Selects series of the metric by their labels.
    #[must_use]
    pub fn selector(mut self, selector: Selector) -> Self {
        self.0.metric.selector = Some(selector.0);
        self
    }
}

impl From<ExternalMetric> for Metric {
    fn from(metric: ExternalMetric) -> Self {
        let spec = MetricSpec {
            external: Some(metric.0),
            ..MetricSpec::default()
        };
        Self::new(SourceType::External, spec)
    }
}

fn identifier(name: impl Into<String>) -> MetricIdentifier {
    MetricIdentifier {
        name: name.into(),
        selector: None,
    }
}
