//! Whether what is installed works: a list of checks, each with what to do where it is not well.
//!
//! What is looked at (`scene`, `admin`) is kept apart from what is made of it (`pods`, `sets`, `access`, `proxy`).

mod access;
mod admin;
mod manifests;
mod pods;
mod proxy;
mod stats;
mod targets;
mod versions;
mod write;

pub use admin::{AdminError, EnvoyInfo};
pub use proxy::Expected;
pub use stats::Stats;
pub use targets::{check_cluster, check_envoy};
pub use write::write;

/// What came of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What was looked at: `rbac`, `token`, …
    pub name: &'static str,
    /// Whose: a pod, a ServiceAccount; empty where there is only one.
    pub subject: String,
    /// How it is.
    pub verdict: Verdict,
    /// What was found.
    pub finding: String,
    /// What to do; empty where all is well.
    pub advice: String,
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// Not as it should be.
    Problem,
    /// It could not be looked at.
    Unknown,
}

impl Verdict {
    /// The verdict in one word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Problem => "trouble",
            Self::Unknown => "unknown",
        }
    }
}

impl Check {
    fn ok(name: &'static str, subject: impl Into<String>, finding: impl Into<String>) -> Self {
        Self::new(name, subject, Verdict::Ok, finding, "")
    }

    fn problem(
        name: &'static str,
        subject: impl Into<String>,
        finding: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self::new(name, subject, Verdict::Problem, finding, advice)
    }

    fn unknown(
        name: &'static str,
        subject: impl Into<String>,
        finding: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self::new(name, subject, Verdict::Unknown, finding, advice)
    }

    fn new(
        name: &'static str,
        subject: impl Into<String>,
        verdict: Verdict,
        finding: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            name,
            subject: subject.into(),
            verdict,
            finding: finding.into(),
            advice: advice.into(),
        }
    }
}
