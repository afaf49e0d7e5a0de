//! `burstctl hpa simulate`

use std::io::{self, Read};
use std::path::Path;

use burst_hpa::{defaulted, validate};

use super::{End, Terminal};
use crate::args::{Picture, Simulate};
use crate::explain::controller;
use crate::hpa;
use crate::input::Input;
use crate::objects::Object;
use crate::page::Page;
use crate::render::Targets;
use crate::simulate::{Setting, Tick, Trace, json, play, plot, svg, table};

/// Plays the controller over a trace.
pub(super) fn simulate(words: &Simulate, terminal: &mut Terminal<'_>) -> End {
    if [&words.file, &words.trace].iter().all(|path| *path == Path::new("-")) {
        terminal.say("only one of the HPA and the trace can come from stdin");
        return End::Unread;
    }
    let input = Input::read(std::slice::from_ref(&words.file), terminal.stdin());
    terminal.say_unreadable(&input);
    terminal.say_broken(&input);
    if terminal.say_faults(&input) || input.is_incomplete() {
        return End::Unread;
    }
    let targets = Targets::of(&input);
    let mut hpas = hpas_of(&input);
    let (Some(object), 0) = (hpas.next(), hpas.count()) else {
        let found = hpas_of(&input).count();
        terminal.say(format_args!(
            "{}: expected one HPA, found {found}",
            words.file.display()
        ));
        return End::Objections;
    };
    let text = match load(&words.trace, terminal.stdin()) {
        // What is no text is no number either, and has a line.
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(reason) => {
            terminal.say(format_args!("{}: {reason}", words.trace.display()));
            return End::Unread;
        }
    };
    match story(words, object, &targets, &text) {
        Ok(story) => {
            let written = story.write(words.format, terminal.data());
            terminal.ended(written, End::Well)
        }
        Err(Trouble::Hpa(reasons)) => {
            for reason in reasons {
                terminal.say(format_args!(
                    "{}: {}: {reason}",
                    words.file.display(),
                    hpa::title(object)
                ));
            }
            End::Objections
        }
        Err(Trouble::Trace(reason)) => {
            terminal.say(format_args!("{}:{reason}", words.trace.display()));
            End::Unread
        }
    }
}

fn hpas_of(input: &Input) -> impl Iterator<Item = &Object> {
    input.objects.iter().filter(|object| hpa::is_hpa(object))
}

fn load(trace: &Path, stdin: &mut dyn Read) -> io::Result<Vec<u8>> {
    if trace != Path::new("-") {
        return std::fs::read(trace);
    }
    let mut bytes = Vec::new();
    stdin.read_to_end(&mut bytes)?;
    Ok(bytes)
}

enum Trouble {
    Hpa(Vec<String>),
    Trace(String),
}

/// What happened, and what its pictures need to know.
struct Story {
    title: String,
    min: i32,
    max: i32,
    names: Vec<String>,
    ticks: Vec<Tick>,
}

impl Story {
    fn write(&self, format: Picture, page: &mut Page<'_>) -> io::Result<()> {
        let Self {
            title,
            min,
            max,
            names,
            ticks,
        } = self;
        match format {
            Picture::Table => table(ticks, names).iter().try_for_each(|line| page.line(line)),
            Picture::Json => json(ticks, names).iter().try_for_each(|tick| page.json(tick)),
            Picture::Plot => page.encoded(&plot(ticks, *min, *max)),
            Picture::Svg => page.encoded(&svg(ticks, *min, *max, title)),
        }
    }
}

fn story(words: &Simulate, object: &Object, targets: &Targets<'_>, trace: &str) -> Result<Story, Trouble> {
    let options = words.cluster.options();
    let refused = |reason: String| Trouble::Hpa(vec![reason]);
    let hpa = hpa::read(object, targets, options).map_err(Trouble::Hpa)?;
    let hpa = defaulted(hpa, options);
    let errors = validate(&hpa, options);
    if !errors.is_empty() {
        return Err(Trouble::Hpa(errors.iter().map(ToString::to_string).collect()));
    }
    let namespace = hpa.metadata.namespace.as_deref().unwrap_or("default");
    let spec = &hpa.spec;
    let (min, max) = (spec.min_replicas.unwrap_or(1), spec.max_replicas);
    let metrics = spec.metrics.as_ref().map_or(0, Vec::len);
    let trace = Trace::read(trace, metrics).map_err(|error| Trouble::Trace(error.to_string()))?;
    let setting = Setting {
        replicas: words.replicas.unwrap_or(min),
        startup: words.startup,
    };
    let ticks =
        play(namespace, spec, &trace, setting, &controller(options)).map_err(|error| refused(error.to_string()))?;
    Ok(Story {
        title: hpa::title(object),
        min,
        max,
        names: trace.names,
        ticks,
    })
}
