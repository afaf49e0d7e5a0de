//! Streams of a command: data on stdout, messages on stderr.

use std::fmt::Display;
use std::io::{self, Read, Write};

use crate::args::LintFormat;
use crate::finding::Finding;
use crate::input::Input;
use crate::lint::write as write_findings;
use crate::outcome::Outcome;
use crate::printer::Printer;
use crate::yaml::first_comment;
use burst_hpa::node::Mark;

/// The streams of a command.
pub struct Terminal<'a> {
    stdin: Box<dyn Read + 'a>,
    data: Printer<'a>,
    messages: Printer<'a>,
    columns: usize,
}

/// The columns of a pipe or a file.
const COLUMNS: usize = 80;

/// The most columns of a plot, however wide the terminal is.
const MOST_COLUMNS: usize = 100;

impl<'a> Terminal<'a> {
    /// The streams of this process.
    #[must_use]
    pub fn new() -> Self {
        let styled = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
        let out = io::BufWriter::new(io::stdout().lock());
        let columns = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
        Self {
            columns: columns
                .filter(|columns| *columns > 0)
                .unwrap_or(COLUMNS)
                .min(MOST_COLUMNS),
            ..Self::with_streams(io::stdin().lock(), out, io::stderr().lock(), styled)
        }
    }

    /// Uses `stdin` for `-`, `out` for data and `messages` for the rest; `styled` adds colours to the data.
    pub fn with_streams(stdin: impl Read + 'a, out: impl Write + 'a, messages: impl Write + 'a, styled: bool) -> Self {
        Self {
            stdin: Box::new(stdin),
            data: Printer::new(out, styled),
            messages: Printer::new(messages, false),
            columns: COLUMNS,
        }
    }

    /// Returns the columns for the data: those of the terminal, at most 100, or 80 if the data goes elsewhere.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the stream for `-`.
    pub fn stdin(&mut self) -> &mut dyn Read {
        &mut self.stdin
    }

    /// Returns the printer for data.
    pub fn data(&mut self) -> &mut Printer<'a> {
        &mut self.data
    }

    /// Writes a line to stderr. A closed stderr is ignored.
    pub fn message(&mut self, messages: impl Display) {
        self.flush_data();
        let _ = self.messages.line(format_args!("burstctl: {messages}"));
    }

    /// Writes findings to stderr.
    pub fn print_findings(&mut self, findings: &[Finding], input: &Input) {
        self.flush_data();
        let _ = write_findings(findings, &input.sources, LintFormat::Text, &mut self.messages);
    }

    /// Flushes the data, so that messages about it come after it. Errors are reported at the end.
    fn flush_data(&mut self) {
        let _ = self.data.flush();
    }

    /// Reports files that cannot be read, and empty input.
    pub fn report_unreadable(&mut self, input: &Input) {
        if input.is_empty() {
            self.message("no document was given");
        }
        for unreadable in &input.unreadable {
            self.message(unreadable);
        }
    }

    /// Reports syntax errors, for commands without findings.
    pub fn report_syntax_errors(&mut self, input: &Input) {
        for broken in &input.invalid_documents {
            let file = input.name(broken.source);
            self.message(format_args!("{file}:{}", broken.error));
        }
    }

    /// Reports documents that are not objects, for commands without findings; returns whether there is one.
    pub fn report_invalid_objects(&mut self, input: &Input) -> bool {
        let mut any = false;
        for object in &input.objects {
            if let Some(fault) = object.invalid_reason() {
                let (file, start) = (input.name(object.source), object.tree.value_span("").start);
                self.message(format_args!("{file}:{}:{}: {fault}", start.line, start.column));
                any = true;
            }
        }
        any
    }

    /// Reports that the output does not keep the comments of the input.
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

    /// Returns the outcome, unless the data could not be written.
    pub fn finish(&mut self, written: io::Result<()>, end: Outcome) -> Outcome {
        match written.and_then(|()| self.data.flush()) {
            Ok(()) => end,
            // A closed pipe, such as `| head`, is not an error.
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
