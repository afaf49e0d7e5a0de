//! `burstctl hpa explain`

use burst_hpa::status::Status;
use burst_hpa::{Options, defaulted, validate};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;

use super::{End, Terminal};
use crate::args::Explain;
use crate::explain;
use crate::hpa;
use crate::input::Input;
use crate::lint;
use crate::objects::Object;
use crate::render::Targets;

/// Explains the HPAs of files.
pub(super) fn explain(words: &Explain, terminal: &mut Terminal<'_>) -> End {
    let options = words.cluster.options();
    #[cfg(feature = "live")]
    if let Some(context) = &words.context {
        return super::live::explain(context, &words.subjects, options, terminal);
    }
    let input = Input::read(&words.subjects, terminal.stdin());
    terminal.say_unreadable(&input);
    let refused: Vec<_> = lint::check_of_any_version(&input, options)
        .into_iter()
        .filter(|finding| matches!(finding.mistake.rule(), "apiserver" | "yaml" | "short-form"))
        .collect();
    terminal.say_findings(&refused, &input);
    let mut end = if input.is_incomplete() { End::Unread } else { End::Well };
    let mut told = Vec::new();
    let targets = Targets::of(&input);
    for object in input.objects.iter().filter(|object| hpa::is_hpa(object)) {
        // Why there is none was said above.
        let Some((hpa, status)) = read(object, &targets, options) else {
            end = end.max(End::Objections);
            continue;
        };
        if words.status && status.is_none() {
            terminal.say(format_args!(
                "{}: no controller has written a status",
                hpa::title(object)
            ));
            end = end.max(End::Objections);
        }
        match explain::explain(&hpa, status.as_ref().filter(|_| words.status), options) {
            Ok(lines) => told.push(lines),
            Err(error) => {
                terminal.say(format_args!("{}: {error}", hpa::title(object)));
                end = end.max(End::Objections);
            }
        }
    }
    if !refused.is_empty() {
        end = end.max(End::Objections);
    }
    if told.is_empty() && end == End::Well {
        terminal.say("no HPA was given");
        end = End::Objections;
    }
    let written = explain::write(&told, terminal.data());
    terminal.ended(written, end)
}

/// As Kubernetes would store it, and the status, which it would not.
fn read(object: &Object, targets: &Targets<'_>, options: Options) -> Option<(HorizontalPodAutoscaler, Option<Status>)> {
    let written = hpa::read(object, targets, options).ok()?;
    let status = Status::of(&written);
    let stored = defaulted(written, options);
    validate(&stored, options).is_empty().then_some((stored, status))
}
