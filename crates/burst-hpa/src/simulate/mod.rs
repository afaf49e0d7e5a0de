//! The HorizontalPodAutoscaler controller of kube-controller-manager v1.36.3 as a function.
//!
//! [`sync`] is one sync of the controller. It takes the input of the controller and returns its actions and its status, with
//! the same replicas and the same messages. Time is an argument, so a simulated hour takes milliseconds. This module
//! does not simulate the workload: the caller turns replicas into pods and load into metrics.
//!
//! The rules are those of
//! <https://github.com/kubernetes/kubernetes/tree/v1.36.3/pkg/controller/podautoscaler>, including
//! its quirks. The tests compare this module with that code, which `tests/oracle/simulate` runs.
//!
//! ```
//! use burst_hpa::simulate::{
//!     ControllerOptions, Limit, Observation, Plan, Reading, Scale, ScaleSelector, State, Time, sync,
//! };
//!
//! // The target is ten messages per pod, with at most five pods.
//! let spec = serde_json::from_value(serde_json::json!({
//!     "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
//!     "maxReplicas": 5,
//!     "metrics": [{"type": "External", "external": {
//!         "metric": {"name": "messages"},
//!         "target": {"type": "AverageValue", "averageValue": "10"},
//!     }}],
//! }))?;
//! let plan = Plan::read("shop", &spec)?;
//! let messages = 75;
//!
//! let (mut state, mut replicas, mut sizes) = (State::default(), 1, Vec::new());
//! for now in [15, 30, 45] {
//!     let seen = Observation {
//!         scale: Ok(Scale { spec_replicas: replicas, status_replicas: replicas, selector: ScaleSelector::Valid }),
//!         pods: Vec::new(),
//!         readings: vec![Ok(Reading::External(vec![messages * 1000]))],
//!         write: Ok(()),
//!     };
//!     let (next, report) = sync(&plan, &seen, &ControllerOptions::default(), state, Time::from_secs(now));
//!     (state, replicas) = (next, report.replicas.unwrap_or(replicas));
//!     sizes.push((replicas, report.decision.and_then(|decision| decision.limit)));
//! }
//! assert_eq!(
//!     sizes,
//!     [(4, Some(Limit::ScaleUpRate)), (5, Some(Limit::MaxReplicas)), (5, Some(Limit::MaxReplicas))]
//! );
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod combine;
mod conditions;
mod decide;
mod describe;
mod failure;
mod int;
mod limits;
mod memory;
mod metric;
mod observation;
mod options;
mod per_pod;
mod plan;
mod pods;
mod read;
mod report;
mod requests;
mod single_value;
mod stabilize;
mod state;
mod status;
mod sync;
mod sync_input;
mod time;
mod tolerance;
mod usage_ratio;

pub use conditions::{Conditions, SimulatedCondition};
pub use failure::{MetricError, MetricFailure};
pub use limits::Limit;
pub use metric::{MetricValue, Proposal};
pub use observation::{Observation, Phase, Pod, Reading, Ready, Sample, Samples, Scale, ScaleSelector};
pub use options::ControllerOptions;
pub use plan::Plan;
pub use read::ReadError;
pub use report::{Decision, Outcome, Report};
pub use requests::{Container, InitContainer, RequestError, Requests, ResourceList};
pub use stabilize::Stabilization;
pub use state::State;
pub use status::SimulatedStatus;
pub use sync::sync;
pub use time::Time;
pub use tolerance::Tolerance;
