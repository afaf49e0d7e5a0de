//! `burstctl hpa lint`

use burst_hpa::Severity;

use super::{End, Terminal};
use crate::args::{Format, Lint};
use crate::hpa::is_hpa;
use crate::input::Input;
use crate::lint;

/// Says what is wrong with HPAs.
pub(super) fn lint(words: &Lint, terminal: &mut Terminal<'_>) -> End {
    let paths = words.files.paths();
    if paths.is_empty() {
        terminal.say("no file was given; `-` is stdin");
        return End::Unread;
    }
    let input = Input::read(&paths, terminal.stdin());
    let findings = lint::check(&input, words.cluster.options());
    let written = lint::write(&findings, &input.sources, words.format, terminal.data());
    terminal.say_unreadable(&input);
    let hpas = input.objects.iter().filter(|object| is_hpa(object)).count();
    if words.format == Format::Text {
        let counted = format!("{hpas} HPA{}", if hpas == 1 { "" } else { "s" });
        terminal.say(format_args!("{counted}: {}", lint::summary(&findings)));
    }
    let end = if input.is_incomplete() {
        End::Unread
    } else if findings.iter().any(|finding| finding.severity == Severity::Error) {
        End::Objections
    } else {
        End::Well
    };
    terminal.ended(written, end)
}
