//! Lints about metrics that never have a value, and about fields that the controller ignores.
//!
//! The rules are those of <https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/horizontal.go>.

use k8s_openapi::api::autoscaling::v2::{MetricSpec, MetricTarget};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Written;

use super::scan::{Source, source};
use super::{Findings, Lint};
use crate::field_path::FieldPath;
use crate::metric::{Resource, SourceType};
use crate::quantity::Quantity;
use crate::selector;

pub(super) fn lint(metrics: &[MetricSpec], path: &FieldPath<'_>, findings: &mut Findings) {
    for (index, metric) in metrics.iter().enumerate() {
        let path = path.item(index);
        let Some(source) = source(metric) else { continue };
        let field = path.field(source.field);
        unserved(&source, &field, findings);
        bad_selector(&source, &field, findings);
        let target = field.field("target");
        read(&source, &target, findings);
        overflow(source.target, &target, findings);
        tiny_memory(&source, &target, findings);
        if let Some(first) = metrics.iter().take(index).position(|other| other == metric) {
            let effect = format!("This metric repeats spec.metrics[{first}], so it has no effect.");
            findings.add(Lint::DuplicateMetric, path, effect, "Remove one of the two.");
        }
    }
}

fn unserved(source: &Source<'_>, path: &FieldPath<'_>, findings: &mut Findings) {
    let Some(name) = source.resource.filter(|name| Resource::named(name).is_none()) else {
        return;
    };
    let effect =
        format!("metrics.k8s.io serves only cpu and memory, so the controller never gets a value for {name:?}.");
    let advice = "Use a Pods or External metric that a metrics adapter serves.";
    findings.add(Lint::UnservedResource, path.field("name"), effect, advice);
}

fn bad_selector(source: &Source<'_>, path: &FieldPath<'_>, findings: &mut Findings) {
    let Some(selector) = source.identifier.and_then(|metric| metric.selector.as_ref()) else {
        return;
    };
    if let Err(error) = selector::check(selector) {
        let effect = format!("The controller cannot evaluate this selector ({error}), so the metric always fails.");
        let path = path.field("metric");
        findings.add(
            Lint::MetricSelector,
            path.field("selector"),
            effect,
            "Correct the selector or remove it.",
        );
    }
}

/// Returns the field that the controller compares the metric with, if that field is set.
fn read_field(source: &Source<'_>) -> Option<&'static str> {
    let target = source.target;
    let set = [
        ("averageValue", target.average_value.is_some()),
        ("averageUtilization", target.average_utilization.is_some()),
        ("value", target.value.is_some()),
    ];
    let is_set = |name: &str| set.iter().any(|(field, set)| *field == name && *set);
    match (source.kind, target.type_.as_str()) {
        (SourceType::Object, "Value") => Some("value"),
        (SourceType::Object, "AverageValue") => Some("averageValue"),
        (SourceType::Object, _) => None,
        (SourceType::Pods, _) => Some("averageValue"),
        (SourceType::External, _) => ["averageValue", "value"].into_iter().find(|name| is_set(name)),
        _ => ["averageValue", "averageUtilization"]
            .into_iter()
            .find(|name| is_set(name)),
    }
    .filter(|name| is_set(name))
}

fn read(source: &Source<'_>, path: &FieldPath<'_>, findings: &mut Findings) {
    let target = source.target;
    let Some(read) = read_field(source) else {
        if source.kind == SourceType::Object {
            let effect = format!(
                "The type of an Object target must match the field that is set. With type {:?} the metric always fails.",
                target.type_
            );
            let advice = format!("Set the type to {}.", fitting_type(target));
            findings.add(Lint::ObjectTargetType, path.field("type"), effect, advice);
        }
        return;
    };
    let fitting = type_of(read);
    if target.type_ != fitting {
        let effect = format!(
            "The controller ignores the type {:?} and compares the metric with {read}.",
            target.type_
        );
        findings.add(
            Lint::IgnoredTargetType,
            path.field("type"),
            effect,
            format!("Set the type to {fitting}."),
        );
    }
    for field in set_fields(target).filter(|field| *field != read) {
        let effect = format!("The controller ignores {field} and compares the metric with {read}.");
        findings.add(Lint::IgnoredTargetField, path.field(field), effect, "Remove the field.");
    }
}

fn set_fields(target: &MetricTarget) -> impl Iterator<Item = &'static str> {
    [
        target.value.is_some().then_some("value"),
        target.average_value.is_some().then_some("averageValue"),
        target.average_utilization.is_some().then_some("averageUtilization"),
    ]
    .into_iter()
    .flatten()
}

fn type_of(field: &str) -> &'static str {
    match field {
        "value" => "Value",
        "averageValue" => "AverageValue",
        _ => "Utilization",
    }
}

fn fitting_type(target: &MetricTarget) -> &'static str {
    if target.value.is_some() {
        "Value"
    } else {
        "AverageValue"
    }
}

/// No process runs with less memory than a few pages.
const LEAST_MEMORY_MILLI: i64 = 64 * 1024 * 1000;

#[expect(clippy::cast_precision_loss, reason = "the number is small")]
fn tiny_memory(source: &Source<'_>, path: &FieldPath<'_>, findings: &mut Findings) {
    let is_memory = source.resource.and_then(Resource::named) == Some(Resource::Memory);
    let Some(average) = source.target.average_value.as_ref().filter(|_| is_memory) else {
        return;
    };
    let Ok(quantity) = Quantity::try_from(average) else {
        return;
    };
    if !quantity.fits_milli() || quantity.milli_value() >= LEAST_MEMORY_MILLI {
        return;
    }
    let thousandths = if average.0.ends_with('m') {
        ", because m stands for thousandths"
    } else {
        ""
    };
    let bytes = quantity.milli_value() as f64 / 1000.0;
    let effect = format!(
        "{} is {bytes} bytes of memory for a pod{thousandths}. Every pod uses more, so the HPA scales up to maxReplicas.",
        average.0
    );
    let advice = "Use a unit such as Mi or Gi.";
    findings.add(Lint::TinyMemoryTarget, path.field("averageValue"), effect, advice);
}

fn overflow(target: &MetricTarget, path: &FieldPath<'_>, findings: &mut Findings) {
    let amounts = [("value", &target.value), ("averageValue", &target.average_value)];
    for (field, written) in amounts
        .into_iter()
        .filter_map(|(field, written)| Some((field, written.as_ref()?)))
    {
        let Some(milli) = overflowed(written) else { continue };
        let effect = format!(
            "The controller computes in thousandths and reads {} as {milli}, so its results are wrong.",
            written.0
        );
        let advice = "Use a larger unit in the metric itself, so that the target is below 9.2P.";
        findings.add(Lint::TargetOverflow, path.field(field), effect, advice);
    }
}

fn overflowed(written: &Written) -> Option<i64> {
    let quantity = Quantity::try_from(written).ok()?;
    (!quantity.fits_milli()).then(|| quantity.milli_value())
}
