//! `burstctl hpa simulate`

use std::io::Write as _;

use burst_hpa::{decode, defaulted, migrate, validate};

use super::{End, Terminal};
use crate::args::{Picture, Simulate};
use crate::explain::controller;
use crate::input::Input;
use crate::objects::Object;
use crate::simulate::{Setting, Trace, json, play, plot, svg, table};

/// Plays the controller over a trace.
pub(super) fn simulate(words: &Simulate, terminal: &mut Terminal<'_>) -> End {
    let input = Input::read(std::slice::from_ref(&words.file), &mut terminal.stdin);
    terminal.say_unreadable(&input);
    terminal.say_broken(&input);
    if input.is_incomplete() {
        return End::Unread;
    }
    let mut hpas = input.objects.iter().filter(|object| object.is_hpa());
    let (Some(object), None) = (hpas.next(), hpas.next()) else {
        terminal.say(format_args!("{}: expected one HPA", words.file.display()));
        return End::Objections;
    };
    let text = match std::fs::read_to_string(&words.trace) {
        Ok(text) => text,
        Err(reason) => {
            terminal.say(format_args!("{}: {reason}", words.trace.display()));
            return End::Unread;
        }
    };
    match picture(words, object, &text) {
        Ok(picture) => {
            let written = terminal.out.write_all(picture.as_bytes());
            terminal.ended(written, End::Well)
        }
        Err(Trouble::Hpa(reasons)) => {
            for reason in reasons {
                terminal.say(format_args!("{}: {}: {reason}", words.file.display(), object.title()));
            }
            End::Objections
        }
        Err(Trouble::Trace(reason)) => {
            terminal.say(format_args!("{}:{reason}", words.trace.display()));
            End::Unread
        }
    }
}

enum Trouble {
    Hpa(Vec<String>),
    Trace(String),
}

fn picture(words: &Simulate, object: &Object, trace: &str) -> Result<String, Trouble> {
    let options = words.cluster.options();
    let refused = |reason: String| Trouble::Hpa(vec![reason]);
    let node = migrate(&object.tree.to_node())
        .map_err(|error| refused(error.to_string()))?
        .document;
    let words_of = |errors: &[&dyn ToString]| Trouble::Hpa(errors.iter().map(|error| error.to_string()).collect());
    let hpa = decode(&node)
        .map_err(|errors| words_of(&errors.iter().map(|error| error as &dyn ToString).collect::<Vec<_>>()))?;
    let hpa = defaulted(hpa, options);
    let errors = validate(&hpa, options);
    if !errors.is_empty() {
        return Err(words_of(
            &errors.iter().map(|error| error as &dyn ToString).collect::<Vec<_>>(),
        ));
    }
    let spec = &hpa.spec;
    let (min, max) = (spec.min_replicas.unwrap_or(1), spec.max_replicas);
    let metrics = spec.metrics.as_ref().map_or(0, Vec::len);
    let trace = Trace::read(trace, metrics).map_err(|error| Trouble::Trace(error.to_string()))?;
    let setting = Setting {
        replicas: words.replicas.unwrap_or(min),
        startup: words.startup,
    };
    let ticks = play(object.namespace(), spec, &trace, setting, &controller(options))
        .map_err(|error| refused(error.to_string()))?;
    Ok(match words.format {
        Picture::Table => table(&ticks, &trace.names),
        Picture::Json => json(&ticks, &trace.names),
        Picture::Plot => plot(&ticks, min, max),
        Picture::Svg => svg(&ticks, min, max, &object.title()),
    })
}
