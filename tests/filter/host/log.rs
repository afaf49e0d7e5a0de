//! Log lines, and the names of the threads they come from.

use proxy_wasm::types::LogLevel;
use std::fmt;

/// A thread of the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThreadName {
    Main,
    Worker(usize),
}

impl fmt::Display for ThreadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Main => write!(f, "main"),
            Self::Worker(n) => write!(f, "worker {n}"),
        }
    }
}

/// A line the filter logged. A panic's text is one too, at `Critical`.
#[derive(Clone, Debug)]
pub(crate) struct LogLine {
    pub(crate) level: LogLevel,
    pub(crate) text: String,
    pub(crate) thread: ThreadName,
}

impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] [{:?}] {}", self.thread, self.level, self.text)
    }
}
