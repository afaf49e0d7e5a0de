//! `burstctl hpa explain`: the behaviour of an HPA, with numbers that a person can check.

mod metric;
mod replay;
mod reported;
mod rules;

use std::io;

use burst_hpa::Options;
use burst_hpa::simulate::{Plan, ReadError, Tolerance};
use burst_hpa::status::HpaStatus;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;

use crate::metric_model::MetricModel;
use crate::printer::Printer;

/// Explains an HPA as Kubernetes stores it, line by line; with a status, also the controller's last decision.
///
/// # Errors
/// The spec is invalid.
pub fn explain(
    hpa: &HorizontalPodAutoscaler,
    status: Option<&HpaStatus>,
    options: Options,
) -> Result<Vec<String>, ReadError> {
    let namespace = hpa.metadata.namespace.as_deref().unwrap_or("default");
    let (spec, options) = (&hpa.spec, controller_options(options));
    let plan = Plan::read(namespace, spec)?;
    let tolerance = Tolerance::of(&plan, &options);
    let target = &spec.scale_target_ref;
    let mut lines = vec![format!(
        "HPA {namespace}/{} keeps {} {} between {} and {} replicas.",
        hpa.metadata.name.as_deref().unwrap_or_default(),
        target.kind,
        target.name,
        spec.min_replicas.unwrap_or(1),
        spec.max_replicas,
    )];
    let report = status.and_then(|status| replay::replay_last_sync(spec, &plan, status, &options));
    let metrics: Vec<Option<MetricModel>> = spec.metrics.iter().flatten().map(MetricModel::from_spec).collect();
    lines.push(String::new());
    for (index, model) in metrics.iter().enumerate() {
        let last_sync = report.as_ref().map(|report| {
            (
                report.proposals.get(index),
                status.map_or(0, |status| status.current_replicas),
            )
        });
        lines.extend(metric::lines(index, model.as_ref(), tolerance, last_sync));
    }
    if metrics.len() > 1 {
        lines.push(
            "The highest proposal counts. If a metric fails, the others can still scale up, not down.".to_owned(),
        );
    }
    lines.push(String::new());
    lines.extend(rules::lines(spec, &options));
    if let (Some(status), Some(report)) = (status, &report) {
        lines.push(String::new());
        lines.extend(reported::lines(spec, status, report));
    }
    Ok(lines)
}

/// Writes the lines of several HPAs, separated by an empty line.
///
/// # Errors
/// If they cannot be written.
pub fn write(explanations: &[Vec<String>], printer: &mut Printer<'_>) -> io::Result<()> {
    for (index, lines) in explanations.iter().enumerate() {
        if index > 0 {
            printer.line("")?;
        }
        lines.iter().try_for_each(|line| printer.line(line))?;
    }
    Ok(())
}

/// The controller options that match the options of the validator.
pub(crate) fn controller_options(options: Options) -> burst_hpa::simulate::ControllerOptions {
    burst_hpa::simulate::ControllerOptions {
        scale_to_zero: options.scale_to_zero,
        configurable_tolerance: options.tolerance,
        ..burst_hpa::simulate::ControllerOptions::default()
    }
}
