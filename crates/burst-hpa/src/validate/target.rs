//! A metric's target: positive, and of a known type. The type need not fit the field that is set.

use k8s_openapi::api::autoscaling::v2::MetricTarget;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Written;

use crate::field_error::Errors;
use crate::field_path::FieldPath;
use crate::metric::TargetType;
use crate::quantity::Quantity;

pub(super) fn target(target: &MetricTarget, path: &FieldPath<'_>, errors: &mut Errors) {
    let type_path = path.field("type");
    if target.type_.is_empty() {
        errors.required(type_path, "must specify a metric target type");
    }
    if target.type_.parse::<TargetType>().is_err() {
        errors.invalid(
            type_path,
            &target.type_,
            "must be either Utilization, Value, or AverageValue",
        );
    }
    positive(target.value.as_ref(), path.field("value"), errors);
    positive(target.average_value.as_ref(), path.field("averageValue"), errors);
    if let Some(utilization) = target.average_utilization.filter(|utilization| *utilization < 1) {
        errors.invalid(path.field("averageUtilization"), utilization, "must be greater than 0");
    }
}

fn positive(value: Option<&Written>, path: FieldPath<'_>, errors: &mut Errors) {
    if let Some(value) = value {
        check(
            value,
            path,
            errors,
            |quantity| quantity.signum() > 0,
            "must be positive",
        );
    }
}

/// Checks a quantity. One that does not parse, which [`decode`](crate::decode()) would have refused, is
/// an error of its own.
pub(super) fn check(
    value: &Written,
    path: FieldPath<'_>,
    errors: &mut Errors,
    rule: impl FnOnce(&Quantity) -> bool,
    detail: &str,
) {
    match Quantity::try_from(value) {
        Ok(quantity) if rule(&quantity) => {}
        Ok(_) => errors.invalid(path, &value.0, detail),
        Err(reason) => errors.invalid(path, &value.0, reason.to_string()),
    }
}

/// A target that is one of two things.
pub(super) struct Pair<'a> {
    pub neither: (&'a str, &'a str),
    pub both: (&'a str, &'a str),
}

impl Pair<'_> {
    pub(super) fn check(&self, first: bool, second: bool, path: &FieldPath<'_>, errors: &mut Errors) {
        match (first, second) {
            (false, false) => errors.required(path.field(self.neither.0), self.neither.1),
            (true, true) => errors.forbidden(path.field(self.both.0), self.both.1),
            _ => {}
        }
    }
}
