//! Words for people, on stderr.

use std::fmt::Display;
use std::io::{Write, stderr};

use burst_printable::Printable;

/// One line, whatever is quoted in it; lost when nobody reads it, which is no reason to stop.
pub(crate) fn print_line(line: impl Display) {
    let _ = writeln!(stderr(), "{}", Printable::new(line));
}
