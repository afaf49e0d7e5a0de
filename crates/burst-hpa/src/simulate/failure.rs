//! Why a metric has no proposal.

use thiserror::Error;

use super::requests::RequestError;
use crate::status::Reason;

/// Why a metric has no proposal. The messages are the controller's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MetricError {
    /// The request to the metrics API failed.
    #[error("unable to get {what}: {error}")]
    Unread {
        /// The metric.
        what: String,
        /// The error of the API. For an Object metric, it includes the object of the request.
        error: String,
    },
    /// The controller cannot use `metric.selector`.
    #[error("{0}")]
    Selector(String),
    /// The target has no pods.
    #[error("no pods returned by selector while calculating replica count")]
    NoPods,
    /// The target has no pods, but the computation needs their number.
    #[error("unable to calculate ready pods: no pods returned by selector while calculating replica count")]
    NoPodsToCount,
    /// No pod that counts has a sample.
    #[error("did not receive metrics for targeted pods (pods might be unready)")]
    NoSamples,
    /// No pod with a sample has a request above zero.
    #[error("no metrics returned matched known pods")]
    NoMatch,
    /// A pod does not request the resource.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The `target.type` of an Object metric does not match the target field that is set.
    #[error("invalid object metric source: neither a value target nor an average value target was set")]
    ObjectTarget,
}

/// A metric without a proposal.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{effort}{error}")]
pub struct MetricFailure {
    /// The reason for the condition `ScalingActive`.
    pub reason: Reason,
    /// Why the metric has no proposal.
    pub error: MetricError,
    /// The step that failed, in the words of the controller. It is empty except for resource metrics.
    pub(super) effort: String,
}
