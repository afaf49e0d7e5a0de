//! `burstctl hpa explain`

use burst_hpa::status::HpaStatus;
use burst_hpa::{Options, defaulted, validate};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;

use super::{Outcome, Terminal};
use crate::args::{Burstctl, ExplainArgs};
use crate::explain;
use crate::hpa;
use crate::input::Input;
use crate::lint;
use crate::objects::Object;
use crate::short_form::ScaleTargets;

/// Explains the HPAs of files.
pub(super) fn explain(
    args: &ExplainArgs,
    #[cfg_attr(not(feature = "live"), expect(unused_variables, reason = "only a cluster needs it"))]
    burstctl: &Burstctl,
    terminal: &mut Terminal<'_>,
) -> Outcome {
    let options = args.cluster.options();
    #[cfg(feature = "live")]
    if burstctl.cluster.is_given() {
        if args.status {
            terminal.message("--status is for files; the HPAs of a cluster always come with their status");
            return Outcome::Incomplete;
        }
        return super::explain_cluster::explain(&burstctl.cluster, &args.subjects, options, terminal);
    }
    let input = Input::read(&args.subjects, terminal.stdin());
    terminal.report_unreadable(&input);
    let refused: Vec<_> = lint::check_of_any_version(&input, options)
        .into_iter()
        .filter(|finding| matches!(finding.kind.rule(), "apiserver" | "yaml" | "short-form"))
        .collect();
    terminal.print_findings(&refused, &input);
    let mut end = if input.is_incomplete() {
        Outcome::Incomplete
    } else {
        Outcome::Success
    };
    if !refused.is_empty() {
        end = end.max(Outcome::ProblemsFound);
    }
    let (explanations, outcome) = explain_objects(&input, args, terminal);
    end = end.max(outcome);
    if explanations.is_empty() && end == Outcome::Success {
        terminal.message("no HPA was given");
        end = Outcome::ProblemsFound;
    }
    let written = explain::write(&explanations, terminal.data());
    terminal.finish(written, end)
}

/// Explains each HPA of the input. The outcome is that of the HPAs without an explanation or a status.
fn explain_objects(input: &Input, args: &ExplainArgs, terminal: &mut Terminal<'_>) -> (Vec<Vec<String>>, Outcome) {
    let options = args.cluster.options();
    let targets = ScaleTargets::of(input);
    let (mut explanations, mut outcome) = (Vec::new(), Outcome::Success);
    for object in input.objects.iter().filter(|object| hpa::is_hpa(object)) {
        // The lint has reported why an HPA cannot be read.
        let Some((hpa, status)) = read(object, &targets, options) else {
            outcome = Outcome::ProblemsFound;
            continue;
        };
        if args.status && status.is_none() {
            terminal.message(format_args!(
                "{}: no controller has written a status",
                hpa::title(object)
            ));
            outcome = Outcome::ProblemsFound;
        }
        match explain::explain(&hpa, status.as_ref().filter(|_| args.status), options) {
            Ok(lines) => explanations.push(lines),
            Err(error) => {
                terminal.message(format_args!("{}: {error}", hpa::title(object)));
                outcome = Outcome::ProblemsFound;
            }
        }
    }
    (explanations, outcome)
}

/// Returns the HPA as Kubernetes stores it, and its status.
fn read(
    object: &Object,
    targets: &ScaleTargets<'_>,
    options: Options,
) -> Option<(HorizontalPodAutoscaler, Option<HpaStatus>)> {
    let written = hpa::read(object, targets, options).ok()?;
    let status = HpaStatus::of(&written);
    let stored = defaulted(written, options);
    validate(&stored, options).is_empty().then_some((stored, status))
}
