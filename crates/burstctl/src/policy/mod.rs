//! External metric policies without a cluster: what they are, and what they say of the HPAs that somebody wants to have.

pub mod admission;
mod cel_labels;
#[cfg(feature = "live")]
pub mod check;
mod files;
mod limits;
pub mod test;

pub use files::{InvalidPolicy, PolicyFiles};

use burst_policy::{DefaultDecision, Policy};

/// Policies as they meet somebody's queries.
#[derive(Debug)]
pub struct Evaluator<'a> {
    /// All of them, in the order in which they are asked.
    pub policies: &'a [Policy],
    /// What becomes of a query that none is for.
    pub default: DefaultDecision,
    /// Who asks.
    pub user: &'a str,
    /// Their groups.
    pub groups: &'a [String],
}
