//! `burstctl policy`

use burst_hpa::{Node, Options};
use burst_policy::{DefaultDecision, Policy};

use super::{Outcome, Terminal};
use crate::args::{Burstctl, DefaultDecisionArg, PolicyAdmissionArgs, PolicyArgs, PolicyCommand, PolicyTestArgs};
#[cfg(feature = "live")]
use crate::args::{ClusterArgs, PolicyCheckArgs};
use crate::hpa;
use crate::input::Input;
#[cfg(feature = "live")]
use crate::policy::check;
use crate::policy::{Evaluator, PolicyFiles, admission, test};
use crate::short_form::ScaleTargets;
use crate::yaml::to_yaml;

/// Runs a command about policies.
pub(super) fn policy(
    command: &PolicyCommand,
    #[cfg_attr(not(feature = "live"), expect(unused_variables, reason = "only a cluster needs it"))]
    burstctl: &Burstctl,
    terminal: &mut Terminal<'_>,
) -> Outcome {
    match command {
        PolicyCommand::Test(args) => test(args, terminal),
        PolicyCommand::Admission(args) => admission(args, terminal),
        #[cfg(feature = "live")]
        PolicyCommand::Check(args) => check(args, &burstctl.cluster, terminal),
    }
}

/// Reads the policies and the default decision; reports errors and returns `None` if a policy is invalid.
fn read(args: &PolicyArgs, terminal: &mut Terminal<'_>) -> Option<(Vec<Policy>, DefaultDecision)> {
    let input = Input::read(&args.files, terminal.stdin());
    terminal.report_unreadable(&input);
    terminal.report_syntax_errors(&input);
    let read = PolicyFiles::read(&input, args.root_namespace.as_deref());
    for invalid in &read.invalid {
        let file = input.name(invalid.source);
        let (line, column) = (invalid.at.line, invalid.at.column);
        terminal.message(format_args!("{file}:{line}:{column}: {}", invalid.reason));
    }
    let default = match args.default {
        Some(DefaultDecisionArg::Allow) => DefaultDecision::Allow,
        Some(DefaultDecisionArg::Deny) => DefaultDecision::Deny,
        None => read.default.unwrap_or_default(),
    };
    (!input.is_incomplete() && read.invalid.is_empty()).then_some((read.policies, default))
}

fn evaluator<'a>(
    args: &'a PolicyArgs,
    groups: &'a [String],
    policies: &'a [Policy],
    default: DefaultDecision,
) -> Evaluator<'a> {
    Evaluator {
        policies,
        default,
        user: &args.user,
        groups,
    }
}

fn test(args: &PolicyTestArgs, terminal: &mut Terminal<'_>) -> Outcome {
    let Some((policies, default)) = read(&args.policies, terminal) else {
        return Outcome::Incomplete;
    };
    let groups = args.policies.groups();
    let evaluator = evaluator(&args.policies, &groups, &policies, default);
    let input = Input::read(&args.hpas, terminal.stdin());
    terminal.report_unreadable(&input);
    terminal.report_syntax_errors(&input);
    let is_incomplete = terminal.report_invalid_objects(&input) || input.is_incomplete();
    let mut end = if is_incomplete {
        Outcome::Incomplete
    } else {
        Outcome::Success
    };
    if end == Outcome::Success && !input.objects.iter().any(hpa::is_hpa) {
        terminal.message("no HPA was given");
        end = Outcome::ProblemsFound;
    }
    let targets = ScaleTargets::of(&input);
    let mut explanations = Vec::new();
    for object in input.objects.iter().filter(|object| hpa::is_hpa(object)) {
        match hpa::read(object, &targets, Options::default()) {
            Ok(hpa) => {
                let namespace = hpa.metadata.namespace.as_deref().unwrap_or("default");
                explanations.extend(test::test(&evaluator, namespace, &hpa::title(object), &hpa));
            }
            Err(reasons) => {
                for reason in reasons {
                    terminal.message(format_args!("{}: {reason}", hpa::title(object)));
                }
                end = Outcome::Incomplete;
            }
        }
    }
    if explanations.iter().any(|explanations| explanations.refusal.is_some()) {
        end = end.max(Outcome::ProblemsFound);
    }
    let written = test::write(&explanations, args.output, terminal.data());
    terminal.finish(written, end)
}

fn admission(args: &PolicyAdmissionArgs, terminal: &mut Terminal<'_>) -> Outcome {
    let Some((policies, default)) = read(&args.policies, terminal) else {
        return Outcome::Incomplete;
    };
    let groups = args.policies.groups();
    let evaluator = evaluator(&args.policies, &groups, &policies, default);
    let documents = admission::admission(&evaluator).map(|object| match Node::from_json(&object.to_string()) {
        Ok(node) => to_yaml(&node),
        // JSON is YAML.
        Err(_) => format!("{object}\n"),
    });
    let written = terminal.data().raw(&documents.join("---\n"));
    terminal.finish(written, Outcome::Success)
}

#[cfg(feature = "live")]
fn check(args: &PolicyCheckArgs, cluster: &ClusterArgs, terminal: &mut Terminal<'_>) -> Outcome {
    let checked = match check::check(cluster, args.root_namespace.as_deref(), args.write_status) {
        Ok(checked) => checked,
        Err(reason) => {
            terminal.message(reason);
            return Outcome::Incomplete;
        }
    };
    let mut end = Outcome::Success;
    for one in &checked {
        if one.reason.is_some() {
            end = end.max(Outcome::ProblemsFound);
        }
        if let Some(reason) = &one.status_error {
            terminal.message(format_args!("{}: the status cannot be written: {reason}", one.title));
            end = Outcome::Incomplete;
        }
    }
    let written = check::write(&checked, args.output, terminal.data());
    terminal.finish(written, end)
}
