//! `burstctl policy`

use burst_hpa::{Node, Options};
use burst_policy::{DefaultDecision, Policy};

use super::{End, Terminal};
#[cfg(feature = "live")]
use crate::args::PolicyCheck;
use crate::args::{Fallback, Policies as Words, PolicyAdmission, PolicyCommand, PolicyTest};
use crate::hpa;
use crate::input::Input;
#[cfg(feature = "live")]
use crate::policy::check;
use crate::policy::{Court, Policies, admission, test};
use crate::render::Targets;
use crate::yaml::to_yaml;

/// Runs a command about policies.
pub(super) fn policy(command: &PolicyCommand, terminal: &mut Terminal<'_>) -> End {
    match command {
        PolicyCommand::Test(words) => test(words, terminal),
        PolicyCommand::Admission(words) => admission(words, terminal),
        #[cfg(feature = "live")]
        PolicyCommand::Check(words) => check(words, terminal),
    }
}

/// The policies and what the files say of the default; nothing where something is no policy, which is said.
fn read(words: &Words, terminal: &mut Terminal<'_>) -> Option<(Vec<Policy>, DefaultDecision)> {
    let input = Input::read(&words.files, terminal.stdin());
    terminal.say_unreadable(&input);
    terminal.say_broken(&input);
    let read = Policies::read(&input, words.root_namespace.as_deref());
    for faulty in &read.faulty {
        let file = input.name(faulty.source);
        let (line, column) = (faulty.at.line, faulty.at.column);
        terminal.say(format_args!("{file}:{line}:{column}: {}", faulty.reason));
    }
    let default = match words.default {
        Some(Fallback::Allow) => DefaultDecision::Allow,
        Some(Fallback::Deny) => DefaultDecision::Deny,
        None => read.default.unwrap_or_default(),
    };
    (!input.is_incomplete() && read.faulty.is_empty()).then_some((read.policies, default))
}

fn court<'a>(words: &'a Words, groups: &'a [String], policies: &'a [Policy], default: DefaultDecision) -> Court<'a> {
    Court {
        policies,
        default,
        user: &words.user,
        groups,
    }
}

fn test(words: &PolicyTest, terminal: &mut Terminal<'_>) -> End {
    let Some((policies, default)) = read(&words.policies, terminal) else {
        return End::Unread;
    };
    let groups = words.policies.groups();
    let court = court(&words.policies, &groups, &policies, default);
    let input = Input::read(&words.hpas, terminal.stdin());
    terminal.say_unreadable(&input);
    terminal.say_broken(&input);
    let is_unread = terminal.say_faults(&input) || input.is_incomplete();
    let mut end = if is_unread { End::Unread } else { End::Well };
    if end == End::Well && !input.objects.iter().any(hpa::is_hpa) {
        terminal.say("no HPA was given");
        end = End::Objections;
    }
    let targets = Targets::of(&input);
    let mut told = Vec::new();
    for object in input.objects.iter().filter(|object| hpa::is_hpa(object)) {
        match hpa::read(object, &targets, Options::default()) {
            Ok(hpa) => {
                let namespace = hpa.metadata.namespace.as_deref().unwrap_or("default");
                told.extend(test::test(&court, namespace, &hpa::title(object), &hpa));
            }
            Err(reasons) => {
                for reason in reasons {
                    terminal.say(format_args!("{}: {reason}", hpa::title(object)));
                }
                end = End::Unread;
            }
        }
    }
    if told.iter().any(|told| told.refusal.is_some()) {
        end = end.max(End::Objections);
    }
    let written = test::write(&told, words.output, terminal.data());
    terminal.ended(written, end)
}

fn admission(words: &PolicyAdmission, terminal: &mut Terminal<'_>) -> End {
    let Some((policies, default)) = read(&words.policies, terminal) else {
        return End::Unread;
    };
    let groups = words.policies.groups();
    let court = court(&words.policies, &groups, &policies, default);
    let documents = admission::admission(&court).map(|object| match Node::from_json(&object.to_string()) {
        Ok(node) => to_yaml(&node),
        // It is JSON; and JSON is YAML.
        Err(_) => format!("{object}\n"),
    });
    let written = terminal.data().encoded(&documents.join("---\n"));
    terminal.ended(written, End::Well)
}

#[cfg(feature = "live")]
fn check(words: &PolicyCheck, terminal: &mut Terminal<'_>) -> End {
    let checked = match check::check(&words.context, words.root_namespace.as_deref(), words.write_status) {
        Ok(checked) => checked,
        Err(reason) => {
            terminal.say(reason);
            return End::Unread;
        }
    };
    let mut end = End::Well;
    for one in &checked {
        if one.reason.is_some() {
            end = end.max(End::Objections);
        }
        if let Some(reason) = &one.unwritten {
            terminal.say(format_args!("{}: the status cannot be written: {reason}", one.title));
            end = End::Unread;
        }
    }
    let written = check::write(&checked, words.output, terminal.data());
    terminal.ended(written, end)
}
