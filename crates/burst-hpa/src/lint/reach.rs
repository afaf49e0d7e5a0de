//! Lints that compare a target with the limits of the containers.

use k8s_openapi::api::core::v1::Container;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Written;

use super::{Findings, Lint, percent};
use crate::field_path::FieldPath;
use crate::metric::Resource;
use crate::quantity::Quantity;
use crate::simulate::Tolerance;
use crate::workload::{limit, request};

/// The requests and limits that a utilization refers to.
pub(super) struct Utilized<'a> {
    pub containers: Vec<&'a Container>,
    pub resource: Resource,
    /// In percent of the requests.
    pub target: i32,
}

/// Compares an average value with the limits. The usage of a pod cannot exceed the sum of its limits.
#[expect(clippy::cast_precision_loss, reason = "the controller computes with floats")]
pub(super) fn lint_value(
    containers: &[&Container],
    resource: Resource,
    average: &Written,
    tolerance: Tolerance,
    path: &FieldPath<'_>,
    findings: &mut Findings,
) {
    let target = Quantity::try_from(average).map_or(0, |target| target.milli_value());
    let Some(highest) = sum(containers, resource, limit).filter(|_| target > 0) else {
        return;
    };
    if highest as f64 / target as f64 > 1.0 + tolerance.up {
        return;
    }
    let name = resource.as_str();
    let limits = containers.iter().filter_map(|container| limit(container, resource));
    let limits = limits.map(|limit| limit.0.as_str()).collect::<Vec<_>>().join(" + ");
    let effect = format!(
        "The limits cap the {name} usage of a pod at {limits}. The controller scales up only above the target of {} plus \
         the tolerance ({}), so this metric never causes a scale-up.",
        average.0,
        percent(tolerance.up)
    );
    findings.add(
        Lint::UnreachableValue,
        path,
        effect,
        "Lower the target, or raise the limits.",
    );
}

/// Returns the sum in thousandths, or `None` unless every container has an amount.
fn sum(
    containers: &[&Container],
    resource: Resource,
    amount: fn(&Container, Resource) -> Option<&Written>,
) -> Option<i128> {
    let milli = |container: &&Container| {
        let quantity = Quantity::try_from(amount(container, resource)?).ok()?;
        Some(i128::from(quantity.milli_value()))
    };
    containers
        .iter()
        .map(milli)
        .sum::<Option<i128>>()
        .filter(|sum| *sum > 0)
}

pub(super) fn lint(utilized: &Utilized<'_>, tolerance: Tolerance, path: &FieldPath<'_>, findings: &mut Findings) {
    match utilized.highest() {
        Some(highest) => unreachable(utilized, highest, tolerance, path, findings),
        None if utilized.target > 100 => above_request(utilized, path, findings),
        None => {}
    }
}

impl Utilized<'_> {
    /// Returns the highest possible usage in percent of the requests, or `None` unless every container has a request and a
    /// limit. Usage cannot exceed the sum of the limits.
    fn highest(&self) -> Option<i128> {
        let sum = |amount| sum(&self.containers, self.resource, amount);
        let (requests, limits) = (sum(request)?, sum(limit)?);
        Some(limits * 100 / requests)
    }
}

#[expect(clippy::cast_precision_loss, reason = "the controller computes with floats")]
fn unreachable(
    utilized: &Utilized<'_>,
    highest: i128,
    tolerance: Tolerance,
    path: &FieldPath<'_>,
    findings: &mut Findings,
) {
    let target = utilized.target;
    if highest as f64 / f64::from(target) > 1.0 + tolerance.up {
        return;
    }
    let name = utilized.resource.as_str();
    let effect = if highest <= i128::from(target) {
        format!(
            "The limits cap {name} usage at {highest} % of the requests. Usage never exceeds the target of {target} %, so this metric never causes a scale-up."
        )
    } else {
        format!(
            "The limits cap {name} usage at {highest} % of the requests. That is within the tolerance ({}) of the target of {target} %, so this metric never causes a scale-up.",
            percent(tolerance.up)
        )
    };
    let advice = "Lower the target, or raise the limits.";
    findings.add(Lint::UnreachableUtilization, path, effect, advice);
}

fn above_request(utilized: &Utilized<'_>, path: &FieldPath<'_>, findings: &mut Findings) {
    let (name, target) = (utilized.resource.as_str(), utilized.target);
    let cost = match utilized.resource {
        Resource::Cpu => "A node has that cpu only while other pods do not use it",
        Resource::Memory => "A node that runs out of memory evicts such pods first",
    };
    let effect = format!("At {target} %, the average pod uses more {name} than it requests. {cost}.");
    let advice = format!("Raise the {name} requests to what the pods need, and set the target to 100 % or less.");
    findings.add(Lint::AboveRequest, path, effect, advice);
}
