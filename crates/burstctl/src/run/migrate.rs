//! `burstctl hpa migrate`

use super::{End, Terminal};
use burst_hpa::migrate::Note;

use crate::args::Migrate;
use crate::input::Input;
use crate::objects::Object;
use crate::yaml::to_yaml;

/// Rewrites HPAs of older versions as `autoscaling/v2`; other objects pass as they are.
pub(super) fn migrate(words: &Migrate, terminal: &mut Terminal<'_>) -> End {
    let paths = words.files.paths();
    if paths.is_empty() {
        terminal.say("no file was given; `-` is stdin");
        return End::Unread;
    }
    let input = Input::read(&paths, terminal.stdin());
    terminal.say_unreadable(&input);
    terminal.say_broken(&input);
    let mut end = if input.is_incomplete() { End::Unread } else { End::Well };
    if terminal.say_faults(&input) {
        end = end.max(End::Objections);
    }
    let (mut documents, mut said) = (Vec::new(), Vec::new());
    for object in input.objects.iter().filter(|object| object.fault().is_none()) {
        let place = |field: &str| place(&input, object, field);
        if !object.is_hpa() {
            documents.push(to_yaml(&object.tree));
            continue;
        }
        match burst_hpa::migrate(&object.tree) {
            Ok(migration) => {
                said.extend(migration.notes.iter().map(|note| lost(&input, object, note)));
                if let Err(errors) = burst_hpa::decode(&migration.document) {
                    end = end.max(End::Objections);
                    for error in errors {
                        said.push(format!("{}: {}: {error}", place(error.path()), object.title()));
                    }
                }
                documents.push(to_yaml(&migration.document));
            }
            Err(error) => {
                end = end.max(End::Objections);
                said.push(format!("{}: {}: {error}", place(""), object.title()));
            }
        }
    }
    let written = terminal.data().encoded(&documents.join("---\n"));
    said.iter().for_each(|words| terminal.say(words));
    if !documents.is_empty() {
        terminal.say_comments(&input);
    }
    terminal.ended(written, end)
}

/// What an older version said and the new one does not.
pub(super) fn lost(input: &Input, object: &Object, note: &Note) -> String {
    let place = place(input, object, &note.field);
    format!("{place}: {}: {}: {}", object.title(), note.field, note.text)
}

fn place(input: &Input, object: &Object, field: &str) -> String {
    let start = object.tree.place(field).start;
    format!("{}:{}:{}", input.name(object.source), start.line, start.column)
}
