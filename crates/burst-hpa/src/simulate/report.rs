//! The result of a sync and its reasons.

use super::failure::MetricFailure;
use super::limits::Limit;
use super::metric::Proposal;
use super::stabilize::Stabilization;

/// The result of one sync. The status and its conditions are in the [`State`](super::State).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// `spec.replicas` of the target after the sync. None if its scale could not be read.
    pub replicas: Option<i32>,
    /// The outcome.
    pub outcome: Outcome,
    /// The proposal of each metric, in the order of the spec. Empty if the sync did not use the metrics.
    pub proposals: Vec<Result<Proposal, MetricFailure>>,
    /// How the proposals led to the outcome. None if the sync did not use them.
    pub decision: Option<Decision>,
}

/// The outcome of a sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The controller changed the size of the target.
    Rescaled {
        /// The size before.
        from: i32,
        /// The size now.
        to: i32,
        /// The reason in the event `SuccessfulRescale`.
        reason: String,
    },
    /// The size is already right, or a limit prevents a change.
    Kept,
    /// The target has no replicas and the controller did not scale it to zero, so it does nothing.
    Disabled,
    /// Too few metrics have proposals for a decision.
    Undecided,
    /// The scale could not be read.
    Unread,
    /// The update of the scale to `to` failed.
    Unwritten {
        /// The size in the update.
        to: i32,
    },
}

/// The steps from the proposals to a number of replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The highest proposal.
    pub recommended: i32,
    /// The metric with the highest proposal.
    pub metric: String,
    /// The recommendation after stabilization.
    pub stabilized: i32,
    /// The stabilization that changed the recommendation, if any.
    pub stabilization: Option<Stabilization>,
    /// The size that the target gets.
    pub desired: i32,
    /// The limit that changed the stabilized recommendation, if any.
    pub limit: Option<Limit>,
}
