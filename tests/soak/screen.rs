//! The progress: one line that is updated in a terminal, and an occasional line otherwise.

use std::io::{IsTerminal as _, Write as _, stderr};
use std::time::Duration;

use crate::load::Tally;
use crate::promises::mebibytes;

/// The time between two lines if standard error is not a terminal.
const SELDOM: Duration = Duration::from_secs(60);

pub(crate) struct Screen {
    length: Duration,
    live: bool,
    next: Duration,
}

impl Screen {
    pub(crate) fn new(length: Duration) -> Self {
        eprintln!("soak: {} s", length.as_secs());
        Self {
            length,
            live: stderr().is_terminal(),
            next: SELDOM,
        }
    }

    /// `at` is the time since the warm-up.
    pub(crate) fn show(&mut self, at: Option<Duration>, tally: &Tally, resident: u64, what: &str) {
        let line = format!(
            "{} of {}  {} requests  {} changed, {} broken  oldest header {:.1} s  {} MiB  {what}",
            at.map_or("warming up".to_owned(), clock),
            clock(self.length),
            tally.requests,
            tally.changed,
            tally.broken,
            tally.oldest.as_secs_f32(),
            mebibytes(resident),
        );
        if self.live {
            eprint!("\r\x1b[K{line}");
            drop(stderr().flush());
        } else if at >= Some(self.next) {
            self.next += SELDOM;
            eprintln!("{line}");
        }
    }

    pub(crate) fn end(&self) {
        if self.live {
            eprintln!();
        }
    }
}

fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}
