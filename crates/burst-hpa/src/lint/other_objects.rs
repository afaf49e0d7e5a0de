//! Lints about other objects that interfere with the HPA.

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::objects::{Coverage, Objects};
use super::{Findings, Lint, Severity, namespace};
use crate::nearest::nearest;
use crate::spec::spec;
use crate::workload::Workload;

const TARGET: &str = "spec.scaleTargetRef";

pub(super) fn lint(hpa: &HorizontalPodAutoscaler, objects: &Objects, findings: &mut Findings) {
    same_target(hpa, objects, findings);
    keda(hpa, objects, findings);
    vertical(hpa, objects, findings);
    match objects.target(hpa) {
        Some(target) => {
            pods(hpa, target, objects, findings);
            budgets(hpa, target, objects, findings);
        }
        None => missing(hpa, objects, findings),
    }
}

fn name(hpa: &HorizontalPodAutoscaler) -> String {
    format!(
        "{}/{}",
        namespace(hpa),
        hpa.metadata.name.as_deref().unwrap_or_default()
    )
}

/// `shop/web`, or `shop/web and 3 others`.
fn named<'a>(mut names: impl Iterator<Item = String> + 'a) -> Option<String> {
    let first = names.next()?;
    Some(match names.count() {
        0 => first,
        1 => format!("{first} and 1 other"),
        more => format!("{first} and {more} others"),
    })
}

fn same_target(hpa: &HorizontalPodAutoscaler, objects: &Objects, findings: &mut Findings) {
    let target_ref = &spec(hpa).scale_target_ref;
    if let Some(hpas_with_same_target) = named(objects.hpas_with_same_target(hpa).map(name)) {
        let effect = format!(
            "{} {} is also scaled by HorizontalPodAutoscaler {hpas_with_same_target}, so the controller stops all of these HPAs (AmbiguousSelector).",
            target_ref.kind, target_ref.name
        );
        let advice = "Put all metrics into one HPA. It follows the metric that needs the most replicas.";
        findings.add(Lint::SharedTarget, TARGET, effect, advice);
    }
}

fn keda(hpa: &HorizontalPodAutoscaler, objects: &Objects, findings: &mut Findings) {
    let target_ref = &spec(hpa).scale_target_ref;
    let name = hpa.metadata.name.as_deref();
    let competing = objects.scaled_objects(hpa).filter(|scaled| !scaled.takes_over(name));
    if let Some(scaled) = named(competing.map(|scaled| scaled.metadata.name.clone())) {
        let effect = format!(
            "KEDA creates its own HPA for ScaledObject {scaled}, so several HPAs scale {} {} and the controller stops all of them.",
            target_ref.kind, target_ref.name
        );
        let advice = "Move the metrics to the triggers of the ScaledObject, or let KEDA take over this HPA with the annotation scaledobject.keda.sh/transfer-hpa-ownership.";
        findings.add(Lint::KedaTarget, TARGET, effect, advice);
    }
}

fn vertical(hpa: &HorizontalPodAutoscaler, objects: &Objects, findings: &mut Findings) {
    let utilization =
        spec(hpa).metrics.iter().flatten().any(|metric| {
            super::scan::source(metric).is_some_and(|source| source.target.average_utilization.is_some())
        });
    let acting = objects
        .vertical_autoscalers(hpa)
        .filter(|vertical| utilization && vertical.acts());
    if let Some(vertical) = named(acting.map(|vertical| vertical.metadata.name.clone())) {
        let effect = format!(
            "VerticalPodAutoscaler {vertical} changes the requests, and utilization is a percentage of the requests. The two autoscalers react to each other."
        );
        let advice = "Set its updateMode to Off, restrict it to other resources, or use an averageValue in the HPA.";
        findings.add(Lint::VerticalAutoscaler, "spec.metrics", effect, advice);
    }
}

fn missing(hpa: &HorizontalPodAutoscaler, objects: &Objects, findings: &mut Findings) {
    let target_ref = &spec(hpa).scale_target_ref;
    if !matches!(target_ref.kind.as_str(), "Deployment" | "StatefulSet" | "ReplicaSet") {
        return;
    }
    let title = format!("{} {}/{}", target_ref.kind, namespace(hpa), target_ref.name);
    let (severity, effect, otherwise) = match objects.coverage() {
        Coverage::Targets => (
            Severity::Error,
            format!("{title} does not exist, so the controller scales nothing (FailedGetScale)."),
            "Correct the scaleTargetRef, or delete the HPA.",
        ),
        // An input of HPAs alone never has their targets.
        Coverage::Some if !objects.has_workloads() => return,
        Coverage::Some => (
            Severity::Warning,
            format!("{title} is not in the input."),
            "Check the kind, name, namespace and apiVersion, or add the target's manifest to the input.",
        ),
    };
    let advice = match similar(hpa, objects) {
        Some(title) => format!("Did you mean {title}?"),
        None => otherwise.to_owned(),
    };
    findings.add_as(severity, Lint::MissingTarget, TARGET, effect, advice);
}

/// Returns the title of a workload with the same name and another kind, or with a similar name, in the HPA's namespace.
fn similar(hpa: &HorizontalPodAutoscaler, objects: &Objects) -> Option<String> {
    let reference = &spec(hpa).scale_target_ref;
    let namesake = objects
        .workloads_in(namespace(hpa))
        .find(|workload| workload.name == reference.name);
    let near = || {
        let names = objects
            .workloads_in(namespace(hpa))
            .map(|workload| workload.name.as_str());
        let near = nearest(&reference.name, names)?;
        objects
            .workloads_in(namespace(hpa))
            .find(|workload| workload.name == near)
    };
    namesake.or_else(near).map(Workload::title)
}

fn pods(hpa: &HorizontalPodAutoscaler, target: &Workload, objects: &Objects, findings: &mut Findings) {
    let scaled = |other: &&Workload| objects.scaling(other, hpa).next().is_some();
    let (scaled_workloads, other_workloads): (Vec<_>, Vec<_>) = objects.selected_by(target).partition(scaled);
    let (title, advice) = (
        target.title(),
        "Give each workload its own label, and use that label in its selector.",
    );
    let titles = |workloads: &[&Workload]| named(workloads.iter().map(|workload| workload.title()));
    if let Some(whose) = titles(&scaled_workloads) {
        let effect = format!(
            "The selector of {title} also matches the pods of {whose}, which another HPA scales, so the controller stops this HPA (AmbiguousSelector)."
        );
        findings.add(Lint::AmbiguousSelector, TARGET, effect, advice);
    }
    if let Some(whose) = titles(&other_workloads) {
        let effect = format!(
            "The selector of {title} also matches the pods of {whose}, so the controller counts their load and requests."
        );
        findings.add(Lint::ForeignPods, TARGET, effect, advice);
    }
}

fn budgets(hpa: &HorizontalPodAutoscaler, target: &Workload, objects: &Objects, findings: &mut Findings) {
    let min = spec(hpa).min_replicas.unwrap_or(1);
    let labels = target.labels();
    for budget in objects.budgets_covering(target.namespace(), &labels) {
        let Some(rules) = &budget.spec else { continue };
        let (available, unavailable) = (rules.min_available.as_ref(), rules.max_unavailable.as_ref());
        let blocks = available.is_some_and(|least| at_least(least, min) >= min) || unavailable.is_some_and(is_none);
        if blocks {
            let effect = format!(
                "At {min} replicas, PodDisruptionBudget {} allows no evictions, so node drains hang.",
                budget.metadata.name.as_deref().unwrap_or_default()
            );
            let advice = "Raise minReplicas, or use maxUnavailable: 1 in the budget.";
            findings.add(Lint::DisruptionBudget, "spec.minReplicas", effect, advice);
        }
    }
}

fn is_none(pods: &IntOrString) -> bool {
    match pods {
        IntOrString::Int(count) => *count == 0,
        IntOrString::String(text) => text == "0%",
    }
}

/// Returns how many of `replicas` must stay. A percentage is rounded up.
fn at_least(least: &IntOrString, replicas: i32) -> i32 {
    match least {
        IntOrString::Int(pods) => *pods,
        IntOrString::String(text) => text
            .strip_suffix('%')
            .and_then(|percent| percent.parse::<i32>().ok())
            .map_or(0, |percent| replicas.saturating_mul(percent).saturating_add(99) / 100),
    }
}
