//! Lints that compare a utilization target with the limits of the containers.

use k8s_openapi::api::core::v1::Container;

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
        let (requests, limits) = (self.sum(request)?, self.sum(limit)?);
        Some(limits * 100 / requests)
    }

    fn sum(
        &self,
        amount: fn(&Container, Resource) -> Option<&k8s_openapi::apimachinery::pkg::api::resource::Quantity>,
    ) -> Option<i128> {
        let milli = |container: &&Container| {
            let quantity = Quantity::try_from(amount(container, self.resource)?).ok()?;
            Some(i128::from(quantity.milli_value()))
        };
        self.containers
            .iter()
            .map(milli)
            .sum::<Option<i128>>()
            .filter(|sum| *sum > 0)
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
