//! External metric policies without a cluster: what they are, and what they say of the HPAs that somebody wants to have.

pub mod admission;
#[cfg(feature = "live")]
pub mod check;
mod files;
mod narrow;
pub mod test;

pub use files::{Faulty, Policies};

use burst_policy::{Default, Policy};

/// The user that the HPA controller is to an API server.
pub const CONTROLLER: &str = "system:serviceaccount:kube-system:horizontal-pod-autoscaler";

/// The groups of that user.
pub const CONTROLLER_GROUPS: [&str; 3] = [
    "system:serviceaccounts",
    "system:serviceaccounts:kube-system",
    "system:authenticated",
];

/// Policies as they meet somebody's queries.
#[derive(Debug)]
pub struct Court<'a> {
    /// All of them, in the order in which they are asked.
    pub policies: &'a [Policy],
    /// What becomes of a query that none is for.
    pub default: Default,
    /// Who asks.
    pub user: &'a str,
    /// Their groups.
    pub groups: &'a [String],
}
