//! Metrics: one source each, the one its type names, and a target that source can be compared with.

use k8s_openapi::api::autoscaling::v2::{
    ContainerResourceMetricSource, ExternalMetricSource, HorizontalPodAutoscalerSpec, MetricIdentifier, MetricSpec,
    MetricTarget, ObjectMetricSource, PodsMetricSource, ResourceMetricSource,
};

use super::target::{Pair, target};
use super::{content, reference, resource_name};
use crate::field_error::Errors;
use crate::field_path::FieldPath;
use crate::metric::SourceType;
use crate::options::Options;

const VALUE_OR_AVERAGE: Pair<'_> = Pair {
    neither: (
        "averageValue",
        "must set either a target value for metric or a per-pod target",
    ),
    both: (
        "value",
        "may not set both a target value for metric and a per-pod target",
    ),
};

const UTILIZATION_OR_AVERAGE: Pair<'_> = Pair {
    neither: (
        "averageUtilization",
        "must set either a target raw value or a target utilization",
    ),
    both: (
        "averageValue",
        "may not set both a target raw value and a target utilization",
    ),
};

pub(super) fn metrics(spec: &HorizontalPodAutoscalerSpec, path: &FieldPath<'_>, options: Options, errors: &mut Errors) {
    let metrics = spec.metrics.as_deref().unwrap_or_default();
    for (index, spec) in metrics.iter().enumerate() {
        metric(spec, &path.item(index), options, errors);
    }
    let from_outside = metrics
        .iter()
        .any(|metric| matches!(metric.type_.as_str(), "Object" | "External"));
    if spec.min_replicas == Some(0) && !from_outside {
        errors.forbidden(
            *path,
            "must specify at least one Object or External metric to support scaling to zero replicas",
        );
    }
}

fn metric(spec: &MetricSpec, path: &FieldPath<'_>, options: Options, errors: &mut Errors) {
    source_type(spec, path, errors);
    first_source(spec, path, options, errors);
    let named = spec.type_.parse::<SourceType>().map(field_of).unwrap_or_default();
    let present = present(spec);
    if !named.is_empty() && !present.contains(&named) {
        errors.required(
            path.field(named),
            "must populate information for the given metric source",
        );
    }
    if present.len() != 1 {
        for other in present.into_iter().filter(|field| *field != named) {
            errors.forbidden(path.field(other), "must populate the given metric source only");
        }
    }
}

fn source_type(spec: &MetricSpec, path: &FieldPath<'_>, errors: &mut Errors) {
    let path = path.field("type");
    if spec.type_.is_empty() {
        errors.required(path, "must specify a metric source type");
    }
    if spec.type_.parse::<SourceType>().is_err() {
        let allowed: Vec<&str> = SourceType::ALL.iter().map(|source| source.as_str()).collect();
        errors.not_supported(path, &spec.type_, &allowed);
    }
}

fn field_of(source: SourceType) -> &'static str {
    match source {
        SourceType::ContainerResource => "containerResource",
        SourceType::External => "external",
        SourceType::Object => "object",
        SourceType::Pods => "pods",
        SourceType::Resource => "resource",
    }
}

/// The sources that are set, in the order in which the API server checks them.
fn present(spec: &MetricSpec) -> Vec<&'static str> {
    [
        spec.object.as_ref().map(|_| "object"),
        spec.external.as_ref().map(|_| "external"),
        spec.pods.as_ref().map(|_| "pods"),
        spec.resource.as_ref().map(|_| "resource"),
        spec.container_resource.as_ref().map(|_| "containerResource"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Of several sources the API server checks only the first, even if the type names another one.
fn first_source(spec: &MetricSpec, path: &FieldPath<'_>, options: Options, errors: &mut Errors) {
    if let Some(source) = &spec.object {
        object(source, &path.field("object"), options, errors);
    } else if let Some(source) = &spec.external {
        external(source, &path.field("external"), errors);
    } else if let Some(source) = &spec.pods {
        pods(source, &path.field("pods"), errors);
    } else if let Some(source) = &spec.resource {
        resource(source, &path.field("resource"), errors);
    } else if let Some(source) = &spec.container_resource {
        container_resource(source, &path.field("containerResource"), errors);
    }
}

fn object(source: &ObjectMetricSource, path: &FieldPath<'_>, options: Options, errors: &mut Errors) {
    reference::described_object(
        &source.described_object,
        &path.field("describedObject"),
        options,
        errors,
    );
    identifier(&source.metric, &path.field("metric"), errors);
    let path = path.field("target");
    target(&source.target, &path, errors);
    if source.target.value.is_none() && source.target.average_value.is_none() {
        errors.required(
            path.field("averageValue"),
            "must set either a target value or averageValue",
        );
    }
}

fn external(source: &ExternalMetricSource, path: &FieldPath<'_>, errors: &mut Errors) {
    identifier(&source.metric, &path.field("metric"), errors);
    let path = path.field("target");
    target(&source.target, &path, errors);
    VALUE_OR_AVERAGE.check(
        source.target.value.is_some(),
        source.target.average_value.is_some(),
        &path,
        errors,
    );
}

fn pods(source: &PodsMetricSource, path: &FieldPath<'_>, errors: &mut Errors) {
    identifier(&source.metric, &path.field("metric"), errors);
    let path = path.field("target");
    target(&source.target, &path, errors);
    if source.target.average_value.is_none() {
        errors.required(
            path.field("averageValue"),
            "must specify a positive target averageValue",
        );
    }
}

fn resource(source: &ResourceMetricSource, path: &FieldPath<'_>, errors: &mut Errors) {
    if source.name.is_empty() {
        errors.required(path.field("name"), "must specify a resource name");
    }
    resource_target(&source.target, &path.field("target"), errors);
}

fn container_resource(source: &ContainerResourceMetricSource, path: &FieldPath<'_>, errors: &mut Errors) {
    if source.name.is_empty() {
        errors.required(path.field("name"), "must specify a resource name");
    } else {
        resource_name::container_resource(&source.name, path.field("name"), errors);
    }
    if source.container.is_empty() {
        errors.required(path.field("container"), "must specify a container");
    } else {
        for message in content::dns_label(&source.container) {
            errors.invalid(path.field("container"), &source.container, message);
        }
    }
    resource_target(&source.target, &path.field("target"), errors);
}

fn resource_target(own: &MetricTarget, path: &FieldPath<'_>, errors: &mut Errors) {
    target(own, path, errors);
    UTILIZATION_OR_AVERAGE.check(
        own.average_utilization.is_some(),
        own.average_value.is_some(),
        path,
        errors,
    );
}

fn identifier(identifier: &MetricIdentifier, path: &FieldPath<'_>, errors: &mut Errors) {
    let path = path.field("name");
    if identifier.name.is_empty() {
        errors.required(path, "must specify a metric name");
    }
    for message in content::path_segment(&identifier.name) {
        errors.invalid(path, &identifier.name, message);
    }
}
