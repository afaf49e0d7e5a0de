//! Utilization is a share of what containers request: of all that run, or of the one that is named.

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::Container;

use super::scan::{Source, source};
use super::{Findings, Lint, Severity};
use crate::metric::{Resource, SourceType};
use crate::path::Path;
use crate::quantity::Quantity;
use crate::spec::spec;
use crate::workload::{Workload, limit, of, request};

/// `others_may_add` if something in the cluster fills requests in when pods are made.
pub(super) fn lint(hpa: &HorizontalPodAutoscaler, target: &Workload, others_may_add: bool, findings: &mut Findings) {
    let path = Path::ROOT.field("spec");
    let path = path.field("metrics");
    for (index, metric) in spec(hpa).metrics.iter().flatten().enumerate() {
        let Some(source) = source(metric) else { continue };
        let Some(resource) = source.resource.and_then(Resource::named) else {
            continue;
        };
        let Some(utilization) = source
            .target
            .average_utilization
            .filter(|_| source.target.average_value.is_none())
        else {
            continue;
        };
        let path = path.item(index);
        let path = path.field(source.field);
        let path = path.field("target");
        let path = path.field("averageUtilization");
        missing(&source, target, resource, others_may_add, &path, findings);
        unreachable(&source, target, resource, utilization, &path, findings);
        injected(&source, target, resource, &path, findings);
    }
}

fn missing(
    source: &Source<'_>,
    target: &Workload,
    resource: Resource,
    others_may_add: bool,
    path: &Path<'_>,
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
            "Container {:?} of {} requests no {name}, so there is nothing its utilization is a share of and the metric always fails.",
            container.name,
            target.title()
        );
        let advice = match source.kind {
            SourceType::Resource => format!(
                "Give the container a {name} request, or measure another container alone with a ContainerResource metric."
            ),
            _ => format!("Give the container a {name} request, or use an averageValue."),
        };
        findings.add_as(severity, Lint::MissingRequest, path, effect, advice);
    }
}

/// The containers for whose sake the controller gives up.
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

/// With requests for the pod as a whole, the controller sums up what there is instead of asking every container.
fn requested_by_pod(target: &Workload, resource: Resource) -> bool {
    let Some(resources) = target.pod().and_then(|pod| pod.resources.as_ref()) else {
        return false;
    };
    let has = |resource| {
        of(resources.requests.as_ref(), resource)
            .or(of(resources.limits.as_ref(), resource))
            .is_some()
    };
    let any = has(Resource::Cpu) || has(Resource::Memory);
    has(resource)
        || any
            && target
                .containers()
                .any(|container| request(container, resource).is_some())
}

/// Where every container has a limit, use cannot rise above the sum of them.
fn unreachable(
    source: &Source<'_>,
    target: &Workload,
    resource: Resource,
    utilization: i32,
    path: &Path<'_>,
    findings: &mut Findings,
) {
    let sum = |amount: fn(&Container, Resource) -> Option<&_>| -> Option<i128> {
        let milli = |container| {
            Some(i128::from(
                Quantity::try_from(amount(container, resource)?).ok()?.milli_value(),
            ))
        };
        measured(source, target)
            .map(milli)
            .sum::<Option<i128>>()
            .filter(|sum| *sum > 0)
    };
    let (Some(requests), Some(limits)) = (sum(request), sum(limit)) else {
        return;
    };
    let highest = limits * 100 / requests;
    if highest <= i128::from(utilization) {
        let effect = format!(
            "The limits allow {highest} % of the requested {} at most, so {utilization} % is never exceeded and nothing is scaled up.",
            resource.as_str()
        );
        findings.add(
            Lint::UnreachableUtilization,
            path,
            effect,
            "Lower the target, or raise the limits.",
        );
    }
}

/// What announces that a container is put into the pod on its way to the cluster.
const INJECTORS: [(&str, &str, &str); 5] = [
    ("sidecar.istio.io/inject", "true", "istio-proxy"),
    ("istio.io/rev", "", "istio-proxy"),
    ("linkerd.io/inject", "enabled", "linkerd-proxy"),
    ("linkerd.io/inject", "ingress", "linkerd-proxy"),
    ("dapr.io/enabled", "true", "daprd"),
];

fn injected(source: &Source<'_>, target: &Workload, resource: Resource, path: &Path<'_>, findings: &mut Findings) {
    if source.kind != SourceType::Resource {
        return;
    }
    let metadata = target.template.metadata.as_ref();
    let marks = |key: &str| {
        let labels = metadata.and_then(|metadata| metadata.labels.as_ref()?.get(key));
        labels.or(metadata.and_then(|metadata| metadata.annotations.as_ref()?.get(key)))
    };
    let announced =
        |(key, value, _): &&(&str, &str, &str)| marks(key).is_some_and(|own| value.is_empty() || own == value);
    let Some((key, _, sidecar)) = INJECTORS.iter().find(announced) else {
        return;
    };
    if target.containers().any(|container| container.name == *sidecar) {
        return;
    }
    let name = resource.as_str();
    let effect = format!(
        "{key} puts {sidecar} into the pods: its {name} counts too, and without a request of its own the metric fails."
    );
    let advice = "Measure the application's container alone with a ContainerResource metric.";
    findings.add(Lint::InjectedSidecar, path, effect, advice);
}
