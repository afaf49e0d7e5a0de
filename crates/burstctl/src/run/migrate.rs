//! `burstctl hpa migrate`

use super::{Outcome, Terminal};
use burst_hpa::migrate::Note;

use crate::args::MigrateArgs;
use crate::input::Input;
use crate::objects::Object;
use crate::yaml::to_yaml;

/// Rewrites HPAs of older versions as `autoscaling/v2`; other objects pass as they are.
pub(super) fn migrate(args: &MigrateArgs, terminal: &mut Terminal<'_>) -> Outcome {
    let paths = args.files.paths();
    if paths.is_empty() {
        terminal.message("no file was given; `-` is stdin");
        return Outcome::Incomplete;
    }
    let input = Input::read(&paths, terminal.stdin());
    terminal.report_unreadable(&input);
    terminal.report_syntax_errors(&input);
    let mut end = if input.is_incomplete() {
        Outcome::Incomplete
    } else {
        Outcome::Success
    };
    if terminal.report_invalid_objects(&input) {
        end = end.max(Outcome::ProblemsFound);
    }
    let (mut documents, mut said) = (Vec::new(), Vec::new());
    for object in input.objects.iter().filter(|object| object.invalid_reason().is_none()) {
        let place = |field: &str| place(&input, object, field);
        if !object.is_hpa() {
            documents.push(to_yaml(&object.tree));
            continue;
        }
        match burst_hpa::migrate(&object.tree) {
            Ok(migration) => {
                said.extend(migration.notes.iter().map(|note| migration_note(&input, object, note)));
                if let Err(errors) = burst_hpa::decode(&migration.document) {
                    end = end.max(Outcome::ProblemsFound);
                    for error in errors {
                        said.push(format!("{}: {}: {error}", place(error.path()), object.title()));
                    }
                }
                documents.push(to_yaml(&migration.document));
            }
            Err(error) => {
                end = end.max(Outcome::ProblemsFound);
                said.push(format!("{}: {}: {error}", place(""), object.title()));
            }
        }
    }
    let written = terminal.data().raw(&documents.join("---\n"));
    said.iter().for_each(|args| terminal.message(args));
    if !documents.is_empty() {
        terminal.warn_about_comments(&input);
    }
    terminal.finish(written, end)
}

/// A field of an older version that v2 does not have.
pub(super) fn migration_note(input: &Input, object: &Object, note: &Note) -> String {
    let place = place(input, object, &note.field);
    format!("{place}: {}: {}: {}", object.title(), note.field, note.text)
}

fn place(input: &Input, object: &Object, field: &str) -> String {
    let start = object.tree.value_span(field).start;
    format!("{}:{}:{}", input.name(object.source), start.line, start.column)
}
