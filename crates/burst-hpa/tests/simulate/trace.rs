//! The file format that this test and the Go program `tests/oracle/simulate` share. Times are milliseconds after the
//! autoscaler was made, values are thousandths.

use std::collections::BTreeMap;

use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec};
use k8s_openapi::api::core::v1::PodSpec;
use serde::{Deserialize, Serialize};

/// Between two syncs.
pub(crate) const PERIOD: i64 = 15_000;

/// When the autoscaler was made, in Unix time: synctest's clock starts with the year 2000, and a second autoscaler is created first.
pub(crate) const EPOCH: i64 = 946_684_800_000 + 22_500;

/// All input of a controller, sync by sync.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Trace {
    /// The seed that the trace was generated from.
    pub seed: u64,
    pub options: Settings,
    pub hpa: HorizontalPodAutoscaler,
    /// The target's size at the start.
    pub replicas: i32,
    pub templates: Vec<PodSpec>,
    pub ticks: Vec<Tick>,
}

/// The controller's flags and gates.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Settings {
    pub downscale_stabilization: u64,
    pub tolerance: f64,
    pub cpu_initialization_period: u64,
    pub initial_readiness_delay: u64,
    pub scale_to_zero: bool,
    pub configurable_tolerance: bool,
}

/// The changes before one sync.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Tick {
    /// Replaces the autoscaler's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<HorizontalPodAutoscalerSpec>,
    /// The replicas that another client writes to the target's scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    pub status_replicas: i32,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub read_error: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub write_error: String,
    /// A selector that replaces the valid one of the scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// Another autoscaler has the same selector. After its deletion it is not created again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rival: bool,
    /// Without a value they do not change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<Vec<Pod>>,
    pub readings: Vec<Reading>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Pod {
    pub name: String,
    pub phase: String,
    /// The condition's status, empty for none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ready: String,
    #[serde(skip_serializing_if = "is_zero")]
    pub since: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<i64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
    pub template: usize,
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// The response for the metric with the same index.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Reading {
    Error(String),
    /// Value, end and length of each pod's sample.
    Pods(BTreeMap<String, (i64, i64, u64)>),
    Object(i64),
    External(Vec<i64>),
}

/// The result of a sync.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Answer {
    pub replicas: i32,
    pub current: i32,
    pub desired: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_scale: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<Option<MetricValue>>,
    pub conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct MetricValue {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_value: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_utilization: Option<i32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Condition {
    pub r#type: String,
    pub status: String,
    pub reason: String,
    pub message: String,
    pub since: i64,
}
