//! How a command ends.

use std::process::ExitCode;

/// The outcome of a command; a worse one compares greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Everything is in order.
    Success,
    /// The command found problems.
    ProblemsFound,
    /// Some input could not be read, so there may be more problems.
    Incomplete,
}

impl Outcome {
    /// The exit code: 0, 1 or 2.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::ProblemsFound => 1,
            Self::Incomplete => 2,
        }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        outcome.code().into()
    }
}
