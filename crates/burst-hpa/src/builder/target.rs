//! References to the object that the HPA scales and to the object of a metric.

use k8s_openapi::Metadata;
use k8s_openapi::api::autoscaling::v2::CrossVersionObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::workload::Workload;

/// The object that the HPA scales. If you create the target from the object itself, the builder also checks the requests
/// of its containers.
#[derive(Clone, Debug)]
pub struct ScaleTarget {
    reference: CrossVersionObjectReference,
    workload: Option<Workload>,
}

impl ScaleTarget {
    /// Refers to a Deployment by name.
    #[must_use]
    pub fn deployment(name: impl Into<String>) -> Self {
        Self::reference_to("apps/v1", "Deployment", name)
    }

    /// Refers to a StatefulSet by name.
    #[must_use]
    pub fn stateful_set(name: impl Into<String>) -> Self {
        Self::reference_to("apps/v1", "StatefulSet", name)
    }

    /// Refers to any object with a scale subresource by name.
    #[must_use]
    pub fn reference_to(api_version: impl Into<String>, kind: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            reference: reference(api_version.into(), kind.into(), name.into()),
            workload: None,
        }
    }

    pub(super) fn reference(&self) -> &CrossVersionObjectReference {
        &self.reference
    }

    pub(super) fn workload(&self) -> Option<&Workload> {
        self.workload.as_ref()
    }

    pub(super) fn name(&self) -> &str {
        &self.reference.name
    }

    pub(super) fn namespace(&self) -> Option<&str> {
        self.workload.as_ref()?.namespace.as_deref()
    }
}

impl From<Workload> for ScaleTarget {
    fn from(workload: Workload) -> Self {
        let reference = reference(
            workload.api_version.clone(),
            workload.kind.clone(),
            workload.name.clone(),
        );
        Self {
            reference,
            workload: Some(workload),
        }
    }
}

/// Of a Deployment, StatefulSet, ReplicaSet or ReplicationController.
impl<'a, K> From<&'a K> for ScaleTarget
where
    Workload: From<&'a K>,
{
    fn from(object: &'a K) -> Self {
        Workload::from(object).into()
    }
}

/// The object of an [`ObjectMetric`](super::ObjectMetric). It is in the namespace of the HPA.
#[derive(Clone, Debug)]
pub struct ObjectReference(pub(super) CrossVersionObjectReference);

impl ObjectReference {
    /// Refers to an object by name.
    #[must_use]
    pub fn new(api_version: impl Into<String>, kind: impl Into<String>, name: impl Into<String>) -> Self {
        Self(reference(api_version.into(), kind.into(), name.into()))
    }

    /// Refers to an existing object.
    ///
    /// ```
    /// use burst_hpa::builder::{ObjectMetric, ObjectReference, Value};
    /// # use k8s_openapi::api::networking::v1::Ingress;
    /// # let ingress = Ingress::default();
    /// ObjectMetric::new(ObjectReference::to(&ingress), "hits-per-second", Value::new(1000));
    /// ```
    pub fn to<K: Metadata<Ty = ObjectMeta>>(object: &K) -> Self {
        let name = object.metadata().name.clone().unwrap_or_default();
        Self(reference(K::API_VERSION.to_owned(), K::KIND.to_owned(), name))
    }
}

fn reference(api_version: String, kind: String, name: String) -> CrossVersionObjectReference {
    CrossVersionObjectReference {
        api_version: Some(api_version),
        kind,
        name,
    }
}
