//! Words for people, on stderr.

use std::io::{Write, stderr};

/// One line or more; lost when nobody reads them, which is no reason to stop.
pub(crate) fn say(words: &str) {
    let _ = writeln!(stderr(), "{words}");
}
