//! What a sync did, and why.

use super::failure::MetricFailure;
use super::limits::Limit;
use super::metric::Proposal;
use super::stabilize::Stabilization;

/// The result of one sync; the status and its conditions are in the [`State`](super::State).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// `spec.replicas` of the target afterwards; None if its scale could not be read.
    pub replicas: Option<i32>,
    /// The outcome.
    pub outcome: Outcome,
    /// The proposal of each metric, in the order of the spec; empty when the sync did not use the metrics.
    pub proposals: Vec<Result<Proposal, MetricFailure>>,
    /// How the proposals led to the outcome; None when the sync did not use them.
    pub decision: Option<Decision>,
}

/// How a sync ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The target got another size.
    Rescaled {
        /// The size before.
        from: i32,
        /// The size now.
        to: i32,
        /// As the event `SuccessfulRescale` gives it.
        reason: String,
    },
    /// The size is right, or held by a limit.
    Kept,
    /// The target has no replicas and the controller did not scale it to zero, so it does nothing.
    Disabled,
    /// Too few metrics have proposals for a decision.
    Undecided,
    /// The scale could not be read.
    Unread,
    /// The scale should have become `to`, and could not be written.
    Unwritten {
        /// The size that the write asked for.
        to: i32,
    },
}

/// The steps from the proposals to a number of replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The highest proposal.
    pub recommended: i32,
    /// The metric that made it.
    pub metric: String,
    /// The recommendation after stabilization.
    pub stabilized: i32,
    /// The stabilization that changed it, if one did.
    pub stabilization: Option<Stabilization>,
    /// The size that the target gets.
    pub desired: i32,
    /// The limit that makes it differ from the stabilized recommendation.
    pub limit: Option<Limit>,
}
