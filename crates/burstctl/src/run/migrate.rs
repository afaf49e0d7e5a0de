//! `burstctl hpa migrate`

use super::{End, Terminal};
use crate::args::Migrate;
use crate::input::Input;
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
    let (mut documents, mut said) = (Vec::new(), Vec::new());
    for object in &input.objects {
        let file = input.name(object.source);
        let place = |field: &str| {
            let start = object.tree.place(field).start;
            format!("{file}:{}:{}", start.line, start.column)
        };
        if !object.is_hpa() {
            documents.push(to_yaml(&object.tree.to_node()));
            continue;
        }
        match burst_hpa::migrate(&object.tree.to_node()) {
            Ok(migration) => {
                for note in &migration.notes {
                    said.push(format!(
                        "{}: {}: {}: {}",
                        place(&note.field),
                        object.title(),
                        note.field,
                        note.text
                    ));
                }
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
