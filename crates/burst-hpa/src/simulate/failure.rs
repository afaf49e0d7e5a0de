//! Why a metric has no proposal.

use thiserror::Error;

use super::requests::RequestError;
use crate::status::Reason;

/// Why a metric has no proposal. The messages are the controller's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MetricError {
    /// The metrics API had no answer.
    #[error("unable to get {what}: {error}")]
    Unread {
        /// The metric.
        what: String,
        /// The API's error, and for an Object metric which object it was asked about.
        error: String,
    },
    /// `metric.selector` cannot be used.
    #[error("{0}")]
    Selector(String),
    /// The target has no pods.
    #[error("no pods returned by selector while calculating replica count")]
    NoPods,
    /// The target has no pods, and a number of pods is needed.
    #[error("unable to calculate ready pods: no pods returned by selector while calculating replica count")]
    NoPodsToCount,
    /// No pod that counts has a sample.
    #[error("did not receive metrics for targeted pods (pods might be unready)")]
    NoSamples,
    /// There are samples, none of a pod with a request above zero.
    #[error("no metrics returned matched known pods")]
    NoMatch,
    /// A pod does not request the resource.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// An Object metric whose `target.type` is not the kind of target it sets.
    #[error("invalid object metric source: neither a value target nor an average value target was set")]
    ObjectTarget,
}

/// A metric without a proposal.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{effort}{error}")]
pub struct MetricFailure {
    /// The reason that `ScalingActive` gets.
    pub reason: Reason,
    /// Why.
    pub error: MetricError,
    /// The step that failed, in the controller's words; empty except for resources.
    pub(super) effort: String,
}
