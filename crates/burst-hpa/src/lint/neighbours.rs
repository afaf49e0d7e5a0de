//! Other objects that get in the HPA's way.

use k8s_openapi::api::autoscaling::v2::{CrossVersionObjectReference, HorizontalPodAutoscaler};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::objects::Objects;
use super::{Findings, Lint, namespace};
use crate::selector::matches;
use crate::spec::spec;
use crate::workload::{DEFAULT_NAMESPACE, Workload, group};

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

fn others<'a>(
    hpa: &'a HorizontalPodAutoscaler,
    objects: &'a Objects,
) -> impl Iterator<Item = &'a HorizontalPodAutoscaler> {
    let same = |other: &HorizontalPodAutoscaler| other.metadata.name == hpa.metadata.name;
    objects
        .hpas
        .iter()
        .filter(move |other| namespace(other) == namespace(hpa) && !same(other))
}

fn name(hpa: &HorizontalPodAutoscaler) -> String {
    format!(
        "{}/{}",
        namespace(hpa),
        hpa.metadata.name.as_deref().unwrap_or_default()
    )
}

fn same_target(hpa: &HorizontalPodAutoscaler, objects: &Objects, findings: &mut Findings) {
    let own = &spec(hpa).scale_target_ref;
    for other in others(hpa, objects) {
        let reference = &spec(other).scale_target_ref;
        if same_object(reference, own) {
            let effect = format!(
                "HorizontalPodAutoscaler {} scales {} {} too, so the controller stops both (AmbiguousSelector).",
                name(other),
                own.kind,
                own.name
            );
            let advice = "Put the metrics of both into one HPA: the highest proposal counts.";
            findings.add(Lint::SharedTarget, TARGET, effect, advice);
        }
    }
}

/// Kind, name and group decide; the version does not.
fn same_object(one: &CrossVersionObjectReference, other: &CrossVersionObjectReference) -> bool {
    let group = |reference: &CrossVersionObjectReference| {
        group(reference.api_version.as_deref().unwrap_or_default()).to_owned()
    };
    (&one.kind, &one.name, group(one)) == (&other.kind, &other.name, group(other))
}

fn keda(hpa: &HorizontalPodAutoscaler, objects: &Objects, findings: &mut Findings) {
    let own = &spec(hpa).scale_target_ref;
    for scaled in objects
        .scaled
        .iter()
        .filter(|scaled| scaled.targets(own, namespace(hpa)))
    {
        let effect = format!(
            "KEDA makes an HPA of its own for ScaledObject {}, so {} {} has two and the controller stops both.",
            scaled.metadata.name, own.kind, own.name
        );
        let advice =
            "Move the metrics into the ScaledObject's triggers, or let KEDA take this HPA over by its annotation.";
        findings.add(Lint::KedaTarget, TARGET, effect, advice);
    }
}

fn vertical(hpa: &HorizontalPodAutoscaler, objects: &Objects, findings: &mut Findings) {
    let utilization =
        spec(hpa).metrics.iter().flatten().any(|metric| {
            super::scan::source(metric).is_some_and(|source| source.target.average_utilization.is_some())
        });
    let own = &spec(hpa).scale_target_ref;
    let acting = objects.vertical.iter().filter(|vertical| {
        vertical.targets(own, namespace(hpa)) && vertical.spec.update_policy.update_mode.as_deref() != Some("Off")
    });
    for vertical in acting.filter(|_| utilization) {
        let effect = format!(
            "VerticalPodAutoscaler {} changes the requests that utilization is a share of, so the two chase each other.",
            vertical.metadata.name
        );
        let advice = "Set its updateMode to Off, keep it to other resources, or scale on an averageValue.";
        findings.add(Lint::VerticalAutoscaler, "spec.metrics", effect, advice);
    }
}

fn missing(hpa: &HorizontalPodAutoscaler, objects: &Objects, findings: &mut Findings) {
    let own = &spec(hpa).scale_target_ref;
    let known = matches!(own.kind.as_str(), "Deployment" | "StatefulSet" | "ReplicaSet");
    if known && !objects.workloads.is_empty() {
        let effect = format!(
            "{} {}/{} is not among the objects given.",
            own.kind,
            namespace(hpa),
            own.name
        );
        let advice = "Check kind, name, namespace and apiVersion, or add the target's manifest.";
        findings.add(Lint::MissingTarget, TARGET, effect, advice);
    }
}

fn pods(hpa: &HorizontalPodAutoscaler, target: &Workload, objects: &Objects, findings: &mut Findings) {
    let caught = |other: &&Workload| {
        other.namespace() == target.namespace() && *other != target && matches(&target.selector, &other.labels())
    };
    for other in objects.workloads.iter().filter(caught) {
        let scaled = others(hpa, objects).find(|rival| other.is(&spec(rival).scale_target_ref, namespace(rival)));
        let (title, whose) = (target.title(), other.title());
        if let Some(rival) = scaled {
            let effect = format!(
                "The selector of {title} takes the pods of {whose} too, which {} scales, so the controller stops (AmbiguousSelector).",
                name(rival)
            );
            let advice = "Give each workload a label of its own and select by it.";
            findings.add(Lint::AmbiguousSelector, TARGET, effect, advice);
        } else {
            let effect = format!(
                "The selector of {title} takes the pods of {whose} too, so their load and requests are counted in."
            );
            let advice = "Give each workload a label of its own and select by it.";
            findings.add(Lint::ForeignPods, TARGET, effect, advice);
        }
    }
}

fn budgets(hpa: &HorizontalPodAutoscaler, target: &Workload, objects: &Objects, findings: &mut Findings) {
    let min = spec(hpa).min_replicas.unwrap_or(1);
    let labels = target.labels();
    for budget in objects.budgets.iter().filter(|budget| covers(budget, target, &labels)) {
        let Some(rules) = &budget.spec else { continue };
        let (available, unavailable) = (rules.min_available.as_ref(), rules.max_unavailable.as_ref());
        let blocks = available.is_some_and(|least| at_least(least, min) >= min) || unavailable.is_some_and(is_none);
        if blocks {
            let effect = format!(
                "At {min} replicas PodDisruptionBudget {} lets no pod be evicted, so node drains hang.",
                budget.metadata.name.as_deref().unwrap_or_default()
            );
            let advice = "Raise minReplicas, or write the budget as maxUnavailable: 1.";
            findings.add(Lint::DisruptionBudget, "spec.minReplicas", effect, advice);
        }
    }
}

fn covers(
    budget: &PodDisruptionBudget,
    target: &Workload,
    labels: &std::collections::BTreeMap<String, String>,
) -> bool {
    let namespace = budget.metadata.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
    let selector = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    namespace == target.namespace() && selector.is_some_and(|selector| matches(selector, labels))
}

fn is_none(pods: &IntOrString) -> bool {
    match pods {
        IntOrString::Int(count) => *count == 0,
        IntOrString::String(text) => text == "0%",
    }
}

/// Pods that must stay, of `replicas`; a percentage is rounded up.
fn at_least(least: &IntOrString, replicas: i32) -> i32 {
    match least {
        IntOrString::Int(pods) => *pods,
        IntOrString::String(text) => text
            .strip_suffix('%')
            .and_then(|percent| percent.parse::<i32>().ok())
            .map_or(0, |percent| replicas.saturating_mul(percent).saturating_add(99) / 100),
    }
}
