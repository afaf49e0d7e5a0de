//! The commands from their words to their end.

#[cfg(feature = "live")]
mod doctor;
mod explain;
mod istio;
mod lint;
#[cfg(feature = "live")]
mod live;
mod migrate;
mod policy;
#[cfg(feature = "live")]
mod preview;
#[cfg(feature = "live")]
mod proxy;
mod render;
mod simulate;

use std::io::{self, Read, Write};
use std::process::ExitCode;

use crate::args::{Format, Hpa, Istio, Topic};
use crate::input::Input;
use crate::lint::{Finding, write as write_findings};
use crate::yaml::{Mark, first_comment};

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// All is well.
    Well,
    /// There is something to object to.
    Objections,
    /// Something could not be read, so there may be more.
    Unread,
}

impl End {
    /// 0, 1 or 2.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Well => 0,
            Self::Objections => 1,
            Self::Unread => 2,
        }
    }
}

impl From<End> for ExitCode {
    fn from(end: End) -> Self {
        end.code().into()
    }
}

/// Runs a command.
pub fn run(topic: &Topic, terminal: &mut Terminal<'_>) -> End {
    match topic {
        Topic::Hpa { command } => hpa(command, terminal),
        #[cfg(feature = "live")]
        Topic::Preview(words) => preview::preview(words, terminal),
        #[cfg(feature = "live")]
        Topic::Doctor(words) => doctor::doctor(words, terminal),
        Topic::Istio {
            command: Istio::Render(words),
        } => istio::render(words, terminal),
        Topic::Policy { command } => policy::policy(command, terminal),
        #[cfg(feature = "live")]
        Topic::Proxy(words) => proxy::proxy(words, terminal),
    }
}

fn hpa(command: &Hpa, terminal: &mut Terminal<'_>) -> End {
    match command {
        Hpa::Lint(words) => lint::lint(words, terminal),
        Hpa::Render(words) => render::render(words, terminal),
        Hpa::Migrate(words) => migrate::migrate(words, terminal),
        Hpa::Explain(words) => explain::explain(words, terminal),
        Hpa::Simulate(words) => simulate::simulate(words, terminal),
    }
}

/// Where a command reads and writes.
pub struct Terminal<'a> {
    /// For `-`.
    pub stdin: Box<dyn Read + 'a>,
    /// Data.
    pub out: Box<dyn Write + 'a>,
    /// Words.
    pub words: Box<dyn Write + 'a>,
    /// Whether a person with colours reads the data.
    pub styled: bool,
}

impl Terminal<'_> {
    /// That of this process.
    #[must_use]
    pub fn new() -> Self {
        let styled = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
        Self {
            stdin: Box::new(io::stdin().lock()),
            out: Box::new(io::BufWriter::new(io::stdout().lock())),
            words: Box::new(io::stderr().lock()),
            styled,
        }
    }

    /// Whoever does not listen to words misses nothing that matters.
    fn say(&mut self, words: impl std::fmt::Display) {
        self.show();
        let _ = writeln!(self.words, "burstctl: {}", harmless(&words.to_string()));
    }

    /// Says what is wrong where data is something else.
    fn say_findings(&mut self, findings: &[Finding], input: &Input) {
        self.show();
        let _ = write_findings(findings, &input.sources, Format::Text, false, &mut self.words);
    }

    /// The data so far, so that words about it stand below it. What cannot be written is told at the end.
    fn show(&mut self) {
        let _ = self.out.flush();
    }

    /// Says what could not be opened.
    fn say_unreadable(&mut self, input: &Input) {
        for unreadable in &input.unreadable {
            self.say(unreadable);
        }
    }

    /// Says what is no YAML, for commands that have no findings.
    fn say_broken(&mut self, input: &Input) {
        for broken in &input.broken {
            let file = input.sources.get(broken.source).map_or("", |source| &source.name);
            self.say(format_args!("{file}:{}", broken.error));
        }
    }

    /// Says that what was written has no comments, where the input had some.
    fn say_comments(&mut self, input: &Input) {
        for source in &input.sources {
            if let Some(Mark { line, column }) = first_comment(&source.text) {
                self.say(format_args!(
                    "{}:{line}:{column}: comments are left out; this is the first",
                    source.name
                ));
            }
        }
    }

    /// The end, if all of the data got out.
    fn ended(&mut self, written: io::Result<()>, end: End) -> End {
        match written.and_then(|()| self.out.flush()) {
            Ok(()) => end,
            // `| head` has seen enough.
            Err(reason) if reason.kind() == io::ErrorKind::BrokenPipe => end,
            Err(reason) => {
                self.say(format_args!("stdout: {reason}"));
                End::Unread
            }
        }
    }
}

/// Text with what others wrote in it, for people: control characters, which a terminal would obey, as pictures.
fn harmless(text: &str) -> String {
    let picture = |character: char| match character {
        '\n' => '\n',
        '\u{7f}' => '\u{2421}',
        '\0'..='\u{1f}' => char::from_u32(u32::from(character) + 0x2400).unwrap_or('\u{fffd}'),
        _ if character.is_control() => '\u{fffd}',
        _ => character,
    };
    text.chars().map(picture).collect()
}

impl Default for Terminal<'_> {
    fn default() -> Self {
        Self::new()
    }
}
