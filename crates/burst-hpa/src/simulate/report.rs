//! What a sync did, and why.

use super::failure::MetricFailure;
use super::limits::Limit;
use super::metric::Proposal;
use super::stabilize::Stabilization;

/// What one sync came to; the status and its conditions are in the [`State`](super::State) beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// `spec.replicas` of the target afterwards; None if its scale could not be read.
    pub replicas: Option<i32>,
    /// What happened.
    pub outcome: Outcome,
    /// What each metric asks for, in the order of the spec; empty when the sync did not look at the metrics.
    pub proposals: Vec<Result<Proposal, MetricFailure>>,
    /// How the proposals became the outcome; None when they did not come into it.
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
    /// The target has no replicas, and the controller did not do that: it leaves it alone.
    Disabled,
    /// Too few metrics have proposals to decide by.
    Undecided,
    /// The scale could not be read.
    Unread,
    /// The scale should have become `to`, and could not be written.
    Unwritten {
        /// The size it should have got.
        to: i32,
    },
}

/// The way from the proposals to a number of replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The highest proposal.
    pub recommended: i32,
    /// The metric that made it.
    pub metric: String,
    /// The recommendation after earlier ones had their say.
    pub stabilized: i32,
    /// Which of them, if that changed it.
    pub stabilization: Option<Stabilization>,
    /// What the target gets.
    pub desired: i32,
    /// The limit that makes it differ from what was stabilized.
    pub limit: Option<Limit>,
}
