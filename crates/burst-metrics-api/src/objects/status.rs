//! `Status`, the object of an error.
//! <https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/apis/meta/v1/generated.proto>

use super::ListMeta;
use prost::Message;
use serde::Serialize;

/// `Status`.
#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct Status {
    #[prost(message, required, tag = "1")]
    pub(crate) metadata: ListMeta,
    #[prost(string, tag = "2")]
    pub(crate) status: String,
    #[prost(string, tag = "3")]
    pub(crate) message: String,
    #[prost(string, tag = "4")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) reason: String,
    #[prost(message, optional, tag = "5")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) details: Option<StatusDetails>,
    #[prost(int32, tag = "6")]
    pub(crate) code: i32,
}

/// The object that an error is about.
#[derive(Clone, PartialEq, Eq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatusDetails {
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) group: String,
    /// The plural name of the resource: Kubernetes puts that here.
    #[prost(string, tag = "3")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) kind: String,
    #[prost(int32, tag = "5")]
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) retry_after_seconds: i32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &i32) -> bool {
    *number == 0
}
