//! Messages on stderr.

use std::fmt::Display;
use std::io::{Write, stderr};

use burst_printable::Printable;

/// Writes one line with control characters escaped; a closed stderr is ignored.
pub(crate) fn print_line(line: impl Display) {
    let _ = writeln!(stderr(), "{}", Printable::new(line));
}
