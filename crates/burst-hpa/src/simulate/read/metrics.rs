//! `spec.metrics`.

use k8s_openapi::api::autoscaling::v2::{MetricIdentifier, MetricSpec, MetricTarget};

use super::error::ReadError;
use super::{quantity, selector};
use crate::metric::{SourceType, TargetType};
use crate::simulate::plan::{MetricSource, Object, ResourceTargetValue, Series, SingleValueTarget};

/// All metrics; a defaulted spec has at least one.
pub(super) fn all(specs: &[MetricSpec]) -> Result<Vec<MetricSource>, ReadError> {
    if specs.is_empty() {
        return Err(ReadError::missing("spec.metrics"));
    }
    specs
        .iter()
        .enumerate()
        .map(|(index, spec)| metric(spec, &format!("spec.metrics[{index}]")))
        .collect()
}

fn metric(spec: &MetricSpec, at: &str) -> Result<MetricSource, ReadError> {
    match spec
        .type_
        .parse()
        .map_err(ReadError::unknown_value(format!("{at}.type")))?
    {
        SourceType::Resource => {
            let source = required(spec.resource.as_ref(), at, "resource")?;
            let target = resource_target(&source.target, &format!("{at}.resource.target"))?;
            Ok(MetricSource::Resource {
                resource: source.name.clone(),
                target,
            })
        }
        SourceType::ContainerResource => {
            let source = required(spec.container_resource.as_ref(), at, "containerResource")?;
            let target = resource_target(&source.target, &format!("{at}.containerResource.target"))?;
            Ok(MetricSource::ContainerResource {
                resource: source.name.clone(),
                container: source.container.clone(),
                target,
            })
        }
        SourceType::Pods => {
            let source = required(spec.pods.as_ref(), at, "pods")?;
            let field = format!("{at}.pods.target.averageValue");
            let average = source
                .target
                .average_value
                .as_ref()
                .ok_or_else(|| ReadError::missing(field.as_str()))?;
            Ok(MetricSource::Pods {
                metric: series(&source.metric),
                average: quantity::milli(average, &field)?,
            })
        }
        SourceType::Object => {
            let source = required(spec.object.as_ref(), at, "object")?;
            let object = Object {
                kind: source.described_object.kind.clone(),
                name: source.described_object.name.clone(),
            };
            let target = object_target(&source.target, &format!("{at}.object.target"))?;
            Ok(MetricSource::Object {
                object,
                metric: series(&source.metric),
                target,
            })
        }
        SourceType::External => {
            let source = required(spec.external.as_ref(), at, "external")?;
            let target = external_target(&source.target, &format!("{at}.external.target"))?;
            Ok(MetricSource::External {
                metric: series(&source.metric),
                target,
            })
        }
    }
}

fn required<'a, T>(source: Option<&'a T>, at: &str, name: &str) -> Result<&'a T, ReadError> {
    source.ok_or_else(|| ReadError::missing(format!("{at}.{name}")))
}

fn series(metric: &MetricIdentifier) -> Series {
    let selector = metric.selector.as_ref();
    Series {
        name: metric.name.clone(),
        selector: selector::go_format(selector),
        fault: selector::fault(selector),
    }
}

/// The controller uses the value that is set, whatever `target.type` is. If both are set, it uses the average.
fn resource_target(target: &MetricTarget, at: &str) -> Result<ResourceTargetValue, ReadError> {
    if let Some(average) = &target.average_value {
        return Ok(ResourceTargetValue::AverageValue(quantity::milli(
            average,
            &format!("{at}.averageValue"),
        )?));
    }
    match target.average_utilization {
        Some(percent) => Ok(ResourceTargetValue::Utilization(percent)),
        None => Err(ReadError::missing(format!("{at}.averageUtilization"))),
    }
}

fn external_target(target: &MetricTarget, at: &str) -> Result<SingleValueTarget, ReadError> {
    if let Some(average) = &target.average_value {
        return Ok(SingleValueTarget::AverageValue(quantity::milli(
            average,
            &format!("{at}.averageValue"),
        )?));
    }
    match &target.value {
        Some(value) => Ok(SingleValueTarget::Value(quantity::milli(
            value,
            &format!("{at}.value"),
        )?)),
        None => Err(ReadError::missing(format!("{at}.value"))),
    }
}

/// Only an Object metric needs a `target.type` that names the field that is set. The API server does not check it.
fn object_target(target: &MetricTarget, at: &str) -> Result<Option<SingleValueTarget>, ReadError> {
    match (target.type_.parse(), &target.value, &target.average_value) {
        (Ok(TargetType::Value), Some(value), _) => Ok(Some(SingleValueTarget::Value(quantity::milli(
            value,
            &format!("{at}.value"),
        )?))),
        (Ok(TargetType::AverageValue), _, Some(average)) => Ok(Some(SingleValueTarget::AverageValue(quantity::milli(
            average,
            &format!("{at}.averageValue"),
        )?))),
        _ => Ok(None),
    }
}
