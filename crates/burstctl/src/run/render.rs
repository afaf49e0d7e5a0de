//! `burstctl hpa render`

use super::migrate::lost;
use super::{End, Terminal};
use crate::args::Render;
use crate::input::Input;
use crate::render;

/// Writes `autoscaling/v2` YAML.
pub(super) fn render(words: &Render, terminal: &mut Terminal<'_>) -> End {
    if words.schema {
        let written = terminal.data().encoded(render::SCHEMA);
        return terminal.ended(written, End::Well);
    }
    let paths = words.files.paths();
    if paths.is_empty() {
        terminal.say("no file was given; `-` is stdin");
        return End::Unread;
    }
    let input = Input::read(&paths, terminal.stdin());
    terminal.say_unreadable(&input);
    let rendered = render::render(&input, words.cluster.options(), words.defaults);
    let written = terminal.data().encoded(&rendered.documents.join("---\n"));
    for (object, note) in &rendered.lost {
        terminal.say(lost(&input, object, note));
    }
    for stripped in &rendered.stripped {
        let file = input.name(stripped.source);
        terminal.say(format_args!(
            "{file}:{}: left spec.replicas of {} out: HPA {} decides, and every apply would set it back. If the \
             field is in the cluster already, hand it over first (kubectl apply edit-last-applied), or the first apply \
             without it sets it to 1 for a moment.",
            stripped.line, stripped.target, stripped.hpa
        ));
    }
    if !rendered.documents.is_empty() {
        terminal.say_comments(&input);
    }
    terminal.say_findings(&rendered.findings, &input);
    let end = if input.is_incomplete() {
        End::Unread
    } else if rendered.findings.is_empty() {
        End::Well
    } else {
        End::Objections
    };
    terminal.ended(written, end)
}
