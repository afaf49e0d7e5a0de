//! The few fields that count, by their numbers in the `generated.proto` files of Kubernetes: of [`k8s.io/api`] and
//! [`k8s.io/apimachinery`], v0.36.3. Texts stay bytes of the body until they are wanted.
//!
//! [`k8s.io/api`]: https://github.com/kubernetes/api/blob/v0.36.3/autoscaling/v2/generated.proto
//! [`k8s.io/apimachinery`]: https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/apis/meta/v1/generated.proto

use bytes::Bytes;
use prost::Message;

/// `runtime.Unknown`, around everything but the events of a watch.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Unknown {
    #[prost(message, optional, tag = "1")]
    pub(super) type_meta: Option<TypeMeta>,
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) raw: Bytes,
}

/// `runtime.TypeMeta`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TypeMeta {
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) kind: Bytes,
}

/// A list of any kind. Its items are messages; as bytes each can fail by itself.
#[derive(Clone, PartialEq, Message)]
pub(super) struct List {
    #[prost(message, optional, tag = "1")]
    pub(super) metadata: Option<ListMeta>,
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub(super) items: Vec<Bytes>,
}

/// `meta/v1.ListMeta`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ListMeta {
    #[prost(string, tag = "2")]
    pub(super) resource_version: String,
    #[prost(string, tag = "3")]
    pub(super) r#continue: String,
}

/// `meta/v1.WatchEvent`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct WatchEvent {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) r#type: Bytes,
    #[prost(message, optional, tag = "2")]
    pub(super) object: Option<RawExtension>,
}

/// `runtime.RawExtension`: again an `Unknown` with its prefix.
#[derive(Clone, PartialEq, Message)]
pub(super) struct RawExtension {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) raw: Bytes,
}

/// `meta/v1.Status`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Status {
    #[prost(string, tag = "3")]
    pub(super) message: String,
    #[prost(int32, tag = "6")]
    pub(super) code: i32,
}

/// `meta/v1.ObjectMeta`. Its labels are entries, left as they are unless they are wanted.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ObjectMeta {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) name: Bytes,
    #[prost(bytes = "bytes", tag = "3")]
    pub(super) namespace: Bytes,
    #[prost(bytes = "bytes", tag = "6")]
    pub(super) resource_version: Bytes,
    #[prost(bytes = "bytes", repeated, tag = "11")]
    pub(super) labels: Vec<Bytes>,
}

/// An entry of a `map<string, string>`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Entry {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) value: Bytes,
}

/// What every object begins with.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Named {
    #[prost(message, optional, tag = "1")]
    pub(super) metadata: Option<ObjectMeta>,
}

/// `autoscaling/v2.HorizontalPodAutoscaler`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Hpa {
    #[prost(message, optional, tag = "1")]
    pub(super) metadata: Option<ObjectMeta>,
    #[prost(message, optional, tag = "2")]
    pub(super) spec: Option<HpaSpec>,
    #[prost(message, optional, tag = "3")]
    pub(super) status: Option<HpaStatus>,
}

/// `autoscaling/v2.HorizontalPodAutoscalerSpec`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct HpaSpec {
    #[prost(message, optional, tag = "1")]
    pub(super) scale_target_ref: Option<CrossVersionObjectReference>,
    #[prost(int32, tag = "3")]
    pub(super) max_replicas: i32,
}

/// `autoscaling/v2.CrossVersionObjectReference`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct CrossVersionObjectReference {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) kind: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) name: Bytes,
    #[prost(bytes = "bytes", tag = "3")]
    pub(super) api_version: Bytes,
}

/// `autoscaling/v2.HorizontalPodAutoscalerStatus`. Of the conditions it counts only whether there is one.
#[derive(Clone, PartialEq, Message)]
pub(super) struct HpaStatus {
    #[prost(int64, optional, tag = "1")]
    pub(super) observed_generation: Option<i64>,
    #[prost(int32, tag = "3")]
    pub(super) current_replicas: i32,
    #[prost(bytes = "bytes", optional, tag = "6")]
    pub(super) last_condition: Option<Bytes>,
}

/// `core/v1.Service`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Service {
    #[prost(message, optional, tag = "1")]
    pub(super) metadata: Option<ObjectMeta>,
    #[prost(message, optional, tag = "2")]
    pub(super) spec: Option<ServiceSpec>,
}

/// `core/v1.ServiceSpec`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ServiceSpec {
    #[prost(message, repeated, tag = "2")]
    pub(super) selector: Vec<Entry>,
}

/// `apps/v1.Deployment`, and as well a StatefulSet or a ReplicaSet.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Workload {
    #[prost(message, optional, tag = "1")]
    pub(super) metadata: Option<ObjectMeta>,
    #[prost(message, optional, tag = "2")]
    pub(super) spec: Option<WorkloadSpec>,
}

/// `apps/v1.DeploymentSpec`; the others have the template at the same number.
#[derive(Clone, PartialEq, Message)]
pub(super) struct WorkloadSpec {
    #[prost(message, optional, tag = "3")]
    pub(super) template: Option<PodTemplateSpec>,
}

/// `core/v1.PodTemplateSpec`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct PodTemplateSpec {
    #[prost(message, optional, tag = "1")]
    pub(super) metadata: Option<PodMeta>,
}

/// `meta/v1.ObjectMeta` of a pod template.
#[derive(Clone, PartialEq, Message)]
pub(super) struct PodMeta {
    #[prost(message, repeated, tag = "11")]
    pub(super) labels: Vec<Entry>,
}
