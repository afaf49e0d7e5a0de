//! Checks an installation. Each failed check has advice on how to fix it.
//!
//! `targets` and `admin` collect the facts; `pods`, `manifests`, `access` and `proxy` judge them.

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

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The name of the check: `rbac`, `token`, …
    pub name: &'static str,
    /// The pod or ServiceAccount; empty if there is only one.
    pub subject: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The observed state.
    pub finding: String,
    /// How to fix it; empty if nothing is wrong.
    pub advice: String,
}

/// The verdict of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing is wrong.
    Ok,
    /// Something is wrong.
    Problem,
    /// The check could not be made.
    Unknown,
}

impl Verdict {
    /// Returns the verdict as one word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
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
