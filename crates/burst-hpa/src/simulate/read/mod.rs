//! Converts objects of the Kubernetes API to the simulator's types.

mod behavior;
mod error;
mod metrics;
mod pod;
mod quantity;
mod selector;
mod status;

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscalerSpec;

use super::plan::Plan;
pub use error::ReadError;

impl Plan {
    /// Reads a spec as the API server stores it: defaulted and valid. The namespace is the autoscaler's, for messages.
    ///
    /// # Errors
    /// Names the first field that the controller needs and cannot use.
    pub fn read(namespace: &str, spec: &HorizontalPodAutoscalerSpec) -> Result<Self, ReadError> {
        Ok(Self {
            namespace: namespace.to_owned(),
            min_replicas: spec.min_replicas.unwrap_or(1),
            max_replicas: spec.max_replicas,
            metrics: metrics::all(spec.metrics.as_deref().unwrap_or_default())?,
            behavior: spec.behavior.as_ref().map(behavior::both).transpose()?,
        })
    }
}
