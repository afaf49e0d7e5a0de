//! `burstctl hpa migrate`

use std::fmt::Display;

use burst_hpa::migrate::Note;

use super::{Outcome, Terminal};
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
    let mut migrated = Migrated::default();
    for object in input.objects.iter().filter(|object| object.invalid_reason().is_none()) {
        if object.is_hpa() {
            migrated.add_hpa(&input, object);
        } else {
            migrated.documents.push(to_yaml(&object.tree));
        }
    }
    if migrated.has_errors {
        end = end.max(Outcome::ProblemsFound);
    }
    let written = terminal.data().raw(&migrated.documents.join("---\n"));
    migrated.messages.iter().for_each(|message| terminal.message(message));
    if !migrated.documents.is_empty() {
        terminal.warn_about_comments(&input);
    }
    terminal.finish(written, end)
}

/// The documents to write, and the messages about them.
#[derive(Default)]
struct Migrated {
    documents: Vec<String>,
    messages: Vec<String>,
    has_errors: bool,
}

impl Migrated {
    fn add_hpa(&mut self, input: &Input, object: &Object) {
        let migration = match burst_hpa::migrate(&object.tree) {
            Ok(migration) => migration,
            Err(error) => return self.error(input, object, "", &error),
        };
        let notes = migration.notes.iter().map(|note| migration_note(input, object, note));
        self.messages.extend(notes);
        for error in burst_hpa::decode(&migration.document).err().into_iter().flatten() {
            self.error(input, object, error.path(), &error);
        }
        self.documents.push(to_yaml(&migration.document));
    }

    fn error(&mut self, input: &Input, object: &Object, field: &str, error: &dyn Display) {
        let position = position(input, object, field);
        self.messages.push(format!("{position}: {}: {error}", object.title()));
        self.has_errors = true;
    }
}

/// A field of an older version that v2 does not have.
pub(super) fn migration_note(input: &Input, object: &Object, note: &Note) -> String {
    let position = position(input, object, &note.field);
    format!("{position}: {}: {}: {}", object.title(), note.field, note.text)
}

fn position(input: &Input, object: &Object, field: &str) -> String {
    let start = object.tree.value_span(field).start;
    format!("{}:{}:{}", input.name(object.source), start.line, start.column)
}
