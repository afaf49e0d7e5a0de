//! A common view of the five metric sources.

use k8s_openapi::api::autoscaling::v2::{MetricIdentifier, MetricSpec, MetricTarget};

use crate::metric::SourceType;

/// A metric, independent of its source.
pub(super) struct Source<'a> {
    pub kind: SourceType,
    /// The field of the metric that holds the source, such as `containerResource`.
    pub field: &'static str,
    pub target: &'a MetricTarget,
    /// Set for `Resource` and `ContainerResource`.
    pub resource: Option<&'a str>,
    /// Set for `ContainerResource`.
    pub container: Option<&'a str>,
    /// Set for `Pods`, `Object` and `External`.
    pub identifier: Option<&'a MetricIdentifier>,
}

/// Returns the source that the type of the metric names, if that source is set.
pub(super) fn source(metric: &MetricSpec) -> Option<Source<'_>> {
    let kind = metric.type_.parse().ok()?;
    let plain = |field, target| Source {
        kind,
        field,
        target,
        resource: None,
        container: None,
        identifier: None,
    };
    Some(match kind {
        SourceType::Resource => {
            let source = metric.resource.as_ref()?;
            Source {
                resource: Some(&source.name),
                ..plain("resource", &source.target)
            }
        }
        SourceType::ContainerResource => {
            let source = metric.container_resource.as_ref()?;
            Source {
                resource: Some(&source.name),
                container: Some(&source.container),
                ..plain("containerResource", &source.target)
            }
        }
        SourceType::Pods => {
            let source = metric.pods.as_ref()?;
            Source {
                identifier: Some(&source.metric),
                ..plain("pods", &source.target)
            }
        }
        SourceType::Object => {
            let source = metric.object.as_ref()?;
            Source {
                identifier: Some(&source.metric),
                ..plain("object", &source.target)
            }
        }
        SourceType::External => {
            let source = metric.external.as_ref()?;
            Source {
                identifier: Some(&source.metric),
                ..plain("external", &source.target)
            }
        }
    })
}
