//! Whether what is installed works: a list of checks, each with what to do where it is not well.
//!
//! What is looked at (`scene`, `admin`) is kept apart from what is made of it (`pods`, `sets`, `access`, `proxy`).

mod access;
mod admin;
mod pods;
mod proxy;
mod scene;
mod sets;
mod stats;
mod write;

pub use admin::{AdminError, Told};
pub use proxy::Expected;
pub use scene::{cluster, local};
pub use stats::Stats;
pub use write::write;

/// What came of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What was looked at: `rbac`, `token`, …
    pub about: &'static str,
    /// Whose: a pod, a ServiceAccount; empty where there is only one.
    pub of: String,
    /// How it is.
    pub verdict: Verdict,
    /// What was found.
    pub found: String,
    /// What to do; empty where all is well.
    pub advice: String,
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// As it should be.
    Well,
    /// Not as it should be.
    Trouble,
    /// It could not be looked at.
    Unknown,
}

impl Verdict {
    /// The verdict in one word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Well => "ok",
            Self::Trouble => "trouble",
            Self::Unknown => "unknown",
        }
    }
}

impl Check {
    fn well(about: &'static str, of: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(about, of, Verdict::Well, found, "")
    }

    fn trouble(
        about: &'static str,
        of: impl Into<String>,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self::new(about, of, Verdict::Trouble, found, advice)
    }

    fn unknown(
        about: &'static str,
        of: impl Into<String>,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self::new(about, of, Verdict::Unknown, found, advice)
    }

    fn new(
        about: &'static str,
        of: impl Into<String>,
        verdict: Verdict,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            about,
            of: of.into(),
            verdict,
            found: found.into(),
            advice: advice.into(),
        }
    }
}
