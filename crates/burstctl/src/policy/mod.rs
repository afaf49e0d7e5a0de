//! External metric policies: reading and checking them, and evaluating them for the external metrics of HPAs.

pub mod admission;
mod cel_labels;
#[cfg(feature = "live")]
pub mod check;
mod files;
mod limits;
pub mod test;

pub use files::{InvalidPolicy, PolicyFiles};

use burst_policy::{DefaultDecision, Policy};

/// Policies, and the user whose queries they are evaluated for.
#[derive(Debug)]
pub struct Evaluator<'a> {
    /// All policies, in the order of evaluation.
    pub policies: &'a [Policy],
    /// The decision on a query that no policy covers.
    pub default: DefaultDecision,
    /// The user that sends the queries.
    pub user: &'a str,
    /// The groups of the user.
    pub groups: &'a [String],
}
