//! Where a command reads and writes: data on stdout, words on stderr.

use std::fmt::Display;
use std::io::{self, Read, Write};

use crate::args::LintFormat;
use crate::finding::Finding;
use crate::input::Input;
use crate::lint::write as write_findings;
use crate::outcome::Outcome;
use crate::printer::Printer;
use crate::yaml::{Mark, first_comment};

/// Where a command reads and writes.
pub struct Terminal<'a> {
    stdin: Box<dyn Read + 'a>,
    data: Printer<'a>,
    messages: Printer<'a>,
}

impl<'a> Terminal<'a> {
    /// That of this process.
    #[must_use]
    pub fn new() -> Self {
        let styled = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
        let out = io::BufWriter::new(io::stdout().lock());
        Self::with_streams(io::stdin().lock(), out, io::stderr().lock(), styled)
    }

    /// `stdin` for `-`, `out` for data, `words` for everything else; `styled` if a person with colours reads the data.
    pub fn with_streams(stdin: impl Read + 'a, out: impl Write + 'a, messages: impl Write + 'a, styled: bool) -> Self {
        Self {
            stdin: Box::new(stdin),
            data: Printer::new(out, styled),
            messages: Printer::new(messages, false),
        }
    }

    /// For `-`.
    pub fn stdin(&mut self) -> &mut dyn Read {
        &mut self.stdin
    }

    /// For data.
    pub fn data(&mut self) -> &mut Printer<'a> {
        &mut self.data
    }

    /// A line on stderr. Whoever does not listen to words misses nothing that matters.
    pub fn message(&mut self, messages: impl Display) {
        self.flush_data();
        let _ = self.messages.line(format_args!("burstctl: {messages}"));
    }

    /// Says what is wrong where data is something else.
    pub fn print_findings(&mut self, findings: &[Finding], input: &Input) {
        self.flush_data();
        let _ = write_findings(findings, &input.sources, LintFormat::Text, &mut self.messages);
    }

    /// The data so far, so that words about it stand below it. What cannot be written is told at the end.
    fn flush_data(&mut self) {
        let _ = self.data.flush();
    }

    /// Says what could not be opened, or that there was nothing.
    pub fn report_unreadable(&mut self, input: &Input) {
        if input.is_empty() {
            self.message("no document was given");
        }
        for unreadable in &input.unreadable {
            self.message(unreadable);
        }
    }

    /// Says what is no YAML, for commands that have no findings.
    pub fn report_syntax_errors(&mut self, input: &Input) {
        for broken in &input.invalid_documents {
            let file = input.name(broken.source);
            self.message(format_args!("{file}:{}", broken.error));
        }
    }

    /// Says which documents are no objects, for commands that have no findings; returns whether there is one.
    pub fn report_invalid_objects(&mut self, input: &Input) -> bool {
        let mut any = false;
        for object in &input.objects {
            if let Some(fault) = object.invalid_reason() {
                let (file, start) = (input.name(object.source), object.tree.place("").start);
                self.message(format_args!("{file}:{}:{}: {fault}", start.line, start.column));
                any = true;
            }
        }
        any
    }

    /// Says that what was written has no comments, where the input had some.
    pub fn warn_about_comments(&mut self, input: &Input) {
        for source in &input.sources {
            if let Some(Mark { line, column }) = first_comment(&source.text) {
                self.message(format_args!(
                    "{}:{line}:{column}: comments are not kept; this is the first one",
                    source.name
                ));
            }
        }
    }

    /// The end, if all of the data got out.
    pub fn finish(&mut self, written: io::Result<()>, end: Outcome) -> Outcome {
        match written.and_then(|()| self.data.flush()) {
            Ok(()) => end,
            // `| head` has seen enough.
            Err(reason) if reason.kind() == io::ErrorKind::BrokenPipe => end,
            Err(reason) => {
                self.message(format_args!("stdout: {reason}"));
                Outcome::Incomplete
            }
        }
    }
}

impl Default for Terminal<'_> {
    fn default() -> Self {
        Self::new()
    }
}
