//! The items of the lists that carry values.
//! <https://github.com/kubernetes/metrics/blob/v0.36.3/pkg/apis/custom_metrics/v1beta2/generated.proto>
//! <https://github.com/kubernetes/metrics/blob/v0.36.3/pkg/apis/external_metrics/v1beta1/generated.proto>

use super::{LabelSelector, ObjectReference, Quantity, Timestamp};
use prost::Message;
use serde::Serialize;
use std::collections::BTreeMap;

/// `MetricValue` of `custom.metrics.k8s.io/v1beta1`.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CustomValueV1Beta1 {
    #[prost(message, required, tag = "1")]
    pub(crate) described_object: ObjectReference,
    #[prost(string, tag = "2")]
    pub(crate) metric_name: String,
    #[prost(message, required, tag = "3")]
    pub(crate) timestamp: Timestamp,
    /// The time over which the value is averaged, in seconds.
    #[prost(int64, optional, tag = "4")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) window: Option<i64>,
    #[prost(message, required, tag = "5")]
    pub(crate) value: Quantity,
    #[prost(message, optional, tag = "6")]
    pub(crate) selector: Option<LabelSelector>,
}

/// `MetricValue` of `custom.metrics.k8s.io/v1beta2`.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CustomValueV1Beta2 {
    #[prost(message, required, tag = "1")]
    pub(crate) described_object: ObjectReference,
    #[prost(message, required, tag = "2")]
    pub(crate) metric: MetricIdentifier,
    #[prost(message, required, tag = "3")]
    pub(crate) timestamp: Timestamp,
    /// The time over which the value is averaged, in seconds.
    #[prost(int64, optional, tag = "4")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) window_seconds: Option<i64>,
    #[prost(message, required, tag = "5")]
    pub(crate) value: Quantity,
}

/// `MetricIdentifier` of `custom.metrics.k8s.io/v1beta2`.
#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct MetricIdentifier {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) selector: Option<LabelSelector>,
}

/// `ExternalMetricValue` of `external.metrics.k8s.io/v1beta1`.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExternalValue {
    #[prost(string, tag = "1")]
    pub(crate) metric_name: String,
    #[prost(btree_map = "string, string", tag = "2")]
    pub(crate) metric_labels: BTreeMap<String, String>,
    #[prost(message, required, tag = "3")]
    pub(crate) timestamp: Timestamp,
    /// The time over which the value is averaged, in seconds.
    #[prost(int64, optional, tag = "4")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) window: Option<i64>,
    #[prost(message, required, tag = "5")]
    pub(crate) value: Quantity,
}
