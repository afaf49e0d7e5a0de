//! `burstctl istio render`

use super::{End, Terminal};
use crate::args::RenderSet;
use crate::input::Input;
use crate::istio;

/// Writes the set of one file of values.
pub(super) fn render(words: &RenderSet, terminal: &mut Terminal<'_>) -> End {
    if words.schema {
        let written = terminal.data().encoded(istio::SCHEMA);
        return terminal.ended(written, End::Well);
    }
    let input = Input::read(words.values.as_slice(), terminal.stdin());
    terminal.say_unreadable(&input);
    terminal.say_broken(&input);
    if input.is_incomplete() {
        return End::Unread;
    }
    let Some(values) = istio::only_document(&input) else {
        terminal.say("expected one document of values");
        return End::Unread;
    };
    match istio::render(values) {
        Ok(documents) => {
            let written = terminal.data().encoded(&documents.join("---\n"));
            terminal.ended(written, End::Well)
        }
        Err(finding) => {
            terminal.say_findings(&[*finding], &input);
            End::Objections
        }
    }
}
