//! Lints about requests. Utilization is a percentage of the requests of all running containers, or of the named container.

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::Container;

use super::reach::Utilized;
use super::scan::{Source, source};
use super::{Findings, Lint, Severity, injected, reach, tolerance};
use crate::field_path::FieldPath;
use crate::metric::{Resource, SourceType};
use crate::spec::spec;
use crate::workload::{Workload, amount, request};

/// `others_may_add` is true if something in the cluster may add requests when pods are created.
pub(super) fn lint(hpa: &HorizontalPodAutoscaler, target: &Workload, others_may_add: bool, findings: &mut Findings) {
    let spec_path = FieldPath::ROOT.field("spec");
    let metrics_path = spec_path.field("metrics");
    for (index, metric) in spec(hpa).metrics.iter().flatten().enumerate() {
        let Some(source) = source(metric) else { continue };
        let Some(resource) = source.resource.and_then(Resource::named) else {
            continue;
        };
        let metric_path = metrics_path.item(index);
        let source_path = metric_path.field(source.field);
        let target_path = source_path.field("target");
        if let Some(average) = &source.target.average_value {
            let containers: Vec<_> = measured(&source, target).collect();
            let path = target_path.field("averageValue");
            reach::lint_value(&containers, resource, average, tolerance(hpa), &path, findings);
            continue;
        }
        let Some(utilization) = source.target.average_utilization else {
            continue;
        };
        let path = target_path.field("averageUtilization");
        missing(&source, target, resource, others_may_add, &path, findings);
        let utilized = Utilized {
            containers: measured(&source, target).collect(),
            resource,
            target: utilization,
        };
        reach::lint(&utilized, tolerance(hpa), &path, findings);
        injected::lint(&source, target, resource, &path, findings);
    }
}

fn missing(
    source: &Source<'_>,
    target: &Workload,
    resource: Resource,
    others_may_add: bool,
    path: &FieldPath<'_>,
    findings: &mut Findings,
) {
    let severity = if others_may_add {
        Severity::Warning
    } else {
        Severity::Error
    };
    for container in without_request(source, target, resource) {
        let name = resource.as_str();
        let effect = format!(
            "Container {:?} of {} requests no {name}. Utilization is a percentage of the requests, so the metric always fails.",
            container.name,
            target.title()
        );
        let advice = match source.kind {
            SourceType::Resource => format!(
                "Add a {name} request to the container, or use a ContainerResource metric for another container."
            ),
            _ => format!("Add a {name} request to the container, or use an averageValue."),
        };
        findings.add_as(severity, Lint::MissingRequest, path, effect, advice);
    }
}

/// The containers that make the metric fail, because they have no request.
pub(super) fn without_request<'a>(
    source: &'a Source<'_>,
    target: &'a Workload,
    resource: Resource,
) -> impl Iterator<Item = &'a Container> {
    let whole_pod = source.container.is_none() && requested_by_pod(target, resource);
    measured(source, target).filter(move |container| !whole_pod && request(container, resource).is_none())
}

fn measured<'a>(source: &'a Source<'_>, target: &'a Workload) -> impl Iterator<Item = &'a Container> {
    target
        .containers()
        .filter(|container| source.container.is_none_or(|name| name == container.name))
}

/// With pod-level requests the controller uses their sum and does not require a request of each container.
fn requested_by_pod(target: &Workload, resource: Resource) -> bool {
    let Some(resources) = target.pod().and_then(|pod| pod.resources.as_ref()) else {
        return false;
    };
    let has = |resource| {
        amount(resources.requests.as_ref(), resource)
            .or(amount(resources.limits.as_ref(), resource))
            .is_some()
    };
    let any = has(Resource::Cpu) || has(Resource::Memory);
    has(resource)
        || any
            && target
                .containers()
                .any(|container| request(container, resource).is_some())
}
