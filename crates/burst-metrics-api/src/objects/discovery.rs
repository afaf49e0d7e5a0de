//! The documents of discovery.
//! <https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/apis/meta/v1/generated.proto>
//! <https://github.com/kubernetes/api/blob/v0.36.3/apidiscovery/v2/generated.proto>

use super::{ListMeta, ObjectMeta};
use prost::Message;
use serde::Serialize;

/// `APIGroupList`.
#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct ApiGroupList {
    #[prost(message, repeated, tag = "1")]
    pub(crate) groups: Vec<ApiGroup>,
}

/// `APIGroup`.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApiGroup {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(message, repeated, tag = "2")]
    pub(crate) versions: Vec<GroupVersionForDiscovery>,
    #[prost(message, optional, tag = "3")]
    pub(crate) preferred_version: Option<GroupVersionForDiscovery>,
}

/// `GroupVersionForDiscovery`.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GroupVersionForDiscovery {
    #[prost(string, tag = "1")]
    pub(crate) group_version: String,
    #[prost(string, tag = "2")]
    pub(crate) version: String,
}

/// `APIResourceList`.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApiResourceList {
    #[prost(string, tag = "1")]
    pub(crate) group_version: String,
    #[prost(message, repeated, tag = "2")]
    pub(crate) resources: Vec<ApiResource>,
}

/// `APIResource`. The fields are in the order of Go's JSON.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApiResource {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "6")]
    pub(crate) singular_name: String,
    #[prost(bool, tag = "2")]
    pub(crate) namespaced: bool,
    #[prost(string, tag = "3")]
    pub(crate) kind: String,
    #[prost(message, required, tag = "4")]
    pub(crate) verbs: Verbs,
}

/// `Verbs`: in JSON an array, in protobuf a message.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(transparent)]
pub(crate) struct Verbs {
    #[prost(string, repeated, tag = "1")]
    pub(crate) items: Vec<String>,
}

/// `APIGroupDiscoveryList`: aggregated discovery.
#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct ApiGroupDiscoveryList {
    #[prost(message, required, tag = "1")]
    pub(crate) metadata: ListMeta,
    #[prost(message, repeated, tag = "2")]
    pub(crate) items: Vec<ApiGroupDiscovery>,
}

/// `APIGroupDiscovery`.
#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct ApiGroupDiscovery {
    #[prost(message, required, tag = "1")]
    pub(crate) metadata: ObjectMeta,
    #[prost(message, repeated, tag = "2")]
    pub(crate) versions: Vec<ApiVersionDiscovery>,
}

/// `APIVersionDiscovery`.
#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct ApiVersionDiscovery {
    #[prost(string, tag = "1")]
    pub(crate) version: String,
    #[prost(message, repeated, tag = "2")]
    pub(crate) resources: Vec<ApiResourceDiscovery>,
    #[prost(string, tag = "3")]
    pub(crate) freshness: String,
}

/// `APIResourceDiscovery`. Old clients stop with a nil pointer if there is no `responseKind`.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApiResourceDiscovery {
    #[prost(string, tag = "1")]
    pub(crate) resource: String,
    #[prost(message, required, tag = "2")]
    pub(crate) response_kind: GroupVersionKind,
    #[prost(string, tag = "3")]
    pub(crate) scope: String,
    #[prost(string, tag = "4")]
    pub(crate) singular_resource: String,
    #[prost(string, repeated, tag = "5")]
    pub(crate) verbs: Vec<String>,
    #[prost(message, repeated, tag = "8")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) subresources: Vec<ApiSubresourceDiscovery>,
}

/// `APISubresourceDiscovery`.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApiSubresourceDiscovery {
    #[prost(string, tag = "1")]
    pub(crate) subresource: String,
    #[prost(message, required, tag = "2")]
    pub(crate) response_kind: GroupVersionKind,
    #[prost(string, repeated, tag = "4")]
    pub(crate) verbs: Vec<String>,
}

/// `GroupVersionKind`.
#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct GroupVersionKind {
    #[prost(string, tag = "1")]
    pub(crate) group: String,
    #[prost(string, tag = "2")]
    pub(crate) version: String,
    #[prost(string, tag = "3")]
    pub(crate) kind: String,
}
