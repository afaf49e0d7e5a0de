//! Where a command reads and writes: data on stdout, words on stderr.

use std::fmt::Display;
use std::io::{self, Read, Write};

use crate::args::Format;
use crate::input::Input;
use crate::lint::{Finding, write as write_findings};
use crate::page::Page;
use crate::run::End;
use burst_hpa::node::Mark;

use crate::yaml::first_comment;

/// Where a command reads and writes.
pub struct Terminal<'a> {
    stdin: Box<dyn Read + 'a>,
    data: Page<'a>,
    words: Page<'a>,
}

impl<'a> Terminal<'a> {
    /// That of this process.
    #[must_use]
    pub fn new() -> Self {
        let styled = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
        let out = io::BufWriter::new(io::stdout().lock());
        Self::of(io::stdin().lock(), out, io::stderr().lock(), styled)
    }

    /// `stdin` for `-`, `out` for data, `words` for everything else; `styled` if a person with colours reads the data.
    pub fn of(stdin: impl Read + 'a, out: impl Write + 'a, words: impl Write + 'a, styled: bool) -> Self {
        Self {
            stdin: Box::new(stdin),
            data: Page::new(out, styled),
            words: Page::new(words, false),
        }
    }

    /// For `-`.
    pub fn stdin(&mut self) -> &mut dyn Read {
        &mut self.stdin
    }

    /// For data.
    pub fn data(&mut self) -> &mut Page<'a> {
        &mut self.data
    }

    /// A line on stderr. Whoever does not listen to words misses nothing that matters.
    pub fn say(&mut self, words: impl Display) {
        self.show();
        let _ = self.words.line(format_args!("burstctl: {words}"));
    }

    /// Says what is wrong where data is something else.
    pub fn say_findings(&mut self, findings: &[Finding], input: &Input) {
        self.show();
        let _ = write_findings(findings, &input.sources, Format::Text, &mut self.words);
    }

    /// The data so far, so that words about it stand below it. What cannot be written is told at the end.
    fn show(&mut self) {
        let _ = self.data.flush();
    }

    /// Says what could not be opened, or that there was nothing.
    pub fn say_unreadable(&mut self, input: &Input) {
        if input.is_empty() {
            self.say("no document was given");
        }
        for unreadable in &input.unreadable {
            self.say(unreadable);
        }
    }

    /// Says what is no YAML, for commands that have no findings.
    pub fn say_broken(&mut self, input: &Input) {
        for broken in &input.broken {
            let file = input.name(broken.source);
            self.say(format_args!("{file}:{}", broken.error));
        }
    }

    /// Says which documents are no objects, for commands that have no findings; returns whether there is one.
    pub fn say_faults(&mut self, input: &Input) -> bool {
        let mut any = false;
        for object in &input.objects {
            if let Some(fault) = object.fault() {
                let (file, start) = (input.name(object.source), object.tree.place("").start);
                self.say(format_args!("{file}:{}:{}: {fault}", start.line, start.column));
                any = true;
            }
        }
        any
    }

    /// Says that what was written has no comments, where the input had some.
    pub fn say_comments(&mut self, input: &Input) {
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
    pub fn ended(&mut self, written: io::Result<()>, end: End) -> End {
        match written.and_then(|()| self.data.flush()) {
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

impl Default for Terminal<'_> {
    fn default() -> Self {
        Self::new()
    }
}
