//! The objects that responses consist of, with the fields of both of their forms: JSON, and protobuf.
//!
//! The numbers are those of the `generated.proto` files of `k8s.io/apimachinery`, `k8s.io/api` and `k8s.io/metrics`. A field
//! that this API never sets is left out.

mod discovery;
mod meta;
mod status;
mod table;
mod values;

pub(crate) use discovery::{
    ApiGroup, ApiGroupDiscovery, ApiGroupDiscoveryList, ApiGroupList, ApiResource, ApiResourceDiscovery,
    ApiResourceList, ApiSubresourceDiscovery, ApiVersionDiscovery, GroupVersionForDiscovery, GroupVersionKind, Verbs,
};
pub(crate) use meta::{
    LabelSelector, LabelSelectorRequirement, ListMeta, ObjectMeta, ObjectReference, Quantity, Timestamp,
};
pub(crate) use status::{Status, StatusDetails};
pub(crate) use table::{PartialObjectMetadata, TableColumn, TableRow};
pub(crate) use values::{CustomValueV1Beta1, CustomValueV1Beta2, ExternalValue, MetricIdentifier};
