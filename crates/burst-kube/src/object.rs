//! The fields of an object that the filter uses: the target and the replicas of an HPA, the selector of a Service, the
//! pod labels of a workload. All other fields are skipped while parsing.

use crate::json;
use crate::label_text;
use crate::name::{InvalidName, Name, ObjectName};
use crate::resource::{KeptFields, ObjectKind};
use crate::signal::{ScalingState, Signal};
use pod::{EndpointSlice, PodObject, RawEndpointSlice, RawPod};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

pub(crate) mod pod;
mod ready;
mod scaling;

/// Labels or an equality selector: keys to values.
pub type LabelMap = BTreeMap<Box<str>, Box<str>>;

/// An object of one of the kinds that the filter reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Object {
    /// A HorizontalPodAutoscaler.
    Hpa(Hpa),
    /// A Service.
    Service(Service),
    /// An object with a pod template.
    Workload(Workload),
    /// An `ExternalMetricPolicy`.
    Policy(PolicyObject),
    /// An EndpointSlice.
    EndpointSlice(EndpointSlice),
    /// The metadata of a Pod.
    Pod(PodObject),
}

/// The workload that an HPA scales: kind, group and name. The version does not matter, as in the HPA controller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ScaleTarget {
    /// The API group; empty for the core group.
    pub group: Box<str>,
    /// The kind: `Deployment`.
    pub kind: Box<str>,
    /// The name, in the HPA's namespace.
    pub name: Name,
}

/// A HorizontalPodAutoscaler.
/// <https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/horizontal-pod-autoscaler-v2/>
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hpa {
    /// Its namespace and name.
    pub name: ObjectName,
    /// `metadata.labels`, as [`LabelText`](crate::label_text::LabelText); empty if they are not kept.
    pub own_labels: Box<str>,
    /// `spec.scaleTargetRef`.
    pub target: ScaleTarget,
    /// `spec.maxReplicas`.
    pub max_replicas: u32,
    /// `status.currentReplicas`, 0 if it is absent; `None` until a controller has processed the HPA.
    pub current_replicas: Option<u32>,
    /// The replicas that its metrics ask for. `None` if it is not known, or not kept.
    pub demand: Option<u32>,
    /// `None` if it is not kept.
    pub state: Option<ScalingState>,
}

/// A Service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    /// Its namespace and name.
    pub name: ObjectName,
    /// `metadata.labels`, as [`LabelText`](crate::label_text::LabelText); empty if they are not kept.
    pub own_labels: Box<str>,
    /// `spec.selector`; empty if there is none.
    pub selector: LabelMap,
}

/// Any object with a pod template that can be scaled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workload {
    /// Its namespace and name.
    pub name: ObjectName,
    /// `metadata.labels`, as [`LabelText`](crate::label_text::LabelText); empty if they are not kept.
    pub own_labels: Box<str>,
    /// `spec.template.metadata.labels`.
    pub labels: LabelMap,
    /// `status.readyReplicas`. `None` if it is not known, or not kept.
    pub ready: Option<u32>,
}

/// An `ExternalMetricPolicy`, not parsed yet: an error in one concerns all policies of its namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PolicyObject {
    /// Its namespace and name.
    pub name: ObjectName,
    /// `spec`, as JSON.
    pub spec: Box<str>,
}

/// Why one object is excluded while the rest of its list is served.
#[derive(Debug, thiserror::Error)]
pub enum InvalidObject {
    /// A field is missing or of the wrong type.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// A name that is not valid in a header.
    #[error("{field}: {error}")]
    Name {
        /// The path of the field.
        field: &'static str,
        /// Why the name is invalid.
        error: InvalidName,
    },
    /// The number of replicas is out of range.
    #[error("{field}: {value} is not a number of replicas (at least {min})")]
    Replicas {
        /// The path of the field.
        field: &'static str,
        /// The number.
        value: i64,
        /// The smallest allowed number.
        min: u32,
    },
}

impl Object {
    /// Parses one item of a list. Fields that are not kept are not parsed.
    ///
    /// # Errors
    /// Returns an error if the item is not an object of that kind.
    pub fn parse(kind: ObjectKind, json: &str, kept: KeptFields) -> Result<Self, InvalidObject> {
        let json = json.as_bytes();
        Ok(match kind {
            ObjectKind::Hpas => {
                let hpa = json::read::<RawItem<'_, HpaSpec<'_>>>(json)?.hpa(kept.labels)?;
                Self::Hpa(hpa.with_signals(json, kept))
            }
            ObjectKind::Services => Self::Service(json::read::<RawItem<'_, ServiceSpec>>(json)?.service(kept.labels)?),
            ObjectKind::Workloads => {
                let workload = json::read::<RawItem<'_, WorkloadSpec>>(json)?.workload(kept.labels)?;
                Self::Workload(workload.with_signals(json, kept))
            }
            ObjectKind::Policies => Self::Policy(json::read::<RawItem<'_, &RawValue>>(json)?.policy()?),
            ObjectKind::EndpointSlices => {
                Self::EndpointSlice(json::read::<RawEndpointSlice<'_>>(json)?.endpoint_slice()?)
            }
            ObjectKind::Pods => Self::Pod(json::read::<RawPod<'_>>(json)?.pod()?),
        })
    }

    /// Returns the namespace and name of the object.
    #[must_use]
    pub fn name(&self) -> &ObjectName {
        match self {
            Self::Hpa(hpa) => &hpa.name,
            Self::Service(service) => &service.name,
            Self::Workload(workload) => &workload.name,
            Self::Policy(policy) => &policy.name,
            Self::EndpointSlice(slice) => &slice.name,
            Self::Pod(pod) => &pod.name,
        }
    }
}

impl Hpa {
    fn with_signals(self, json: &[u8], kept: KeptFields) -> Self {
        let keeps = |signal| kept.signals.contains(signal);
        if !keeps(Signal::Demand) && !keeps(Signal::State) {
            return self;
        }
        let scaling = scaling::read(json);
        Self {
            demand: scaling.demand.filter(|_| keeps(Signal::Demand)),
            state: keeps(Signal::State).then_some(scaling.state),
            ..self
        }
    }
}

impl Workload {
    fn with_signals(self, json: &[u8], kept: KeptFields) -> Self {
        let ready = kept.signals.contains(Signal::Ready).then(|| ready::read(json));
        Self {
            ready: ready.flatten(),
            ..self
        }
    }
}

#[derive(Deserialize)]
struct RawItem<'a, Spec> {
    #[serde(borrow)]
    metadata: RawMetadata<'a>,
    spec: Spec,
    // Parsed only for an HPA: in other kinds, fields with the same names may have other types.
    #[serde(borrow, default)]
    status: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(crate) struct RawMetadata<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    namespace: Cow<'a, str>,
    // Parsed only if the labels are kept.
    #[serde(borrow, default)]
    labels: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HpaSpec<'a> {
    #[serde(borrow)]
    scale_target_ref: ScaleTargetRef<'a>,
    max_replicas: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScaleTargetRef<'a> {
    #[serde(default, borrow)]
    api_version: Cow<'a, str>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct HpaStatus {
    current_replicas: Option<i64>,
    observed_generation: Option<i64>,
    conditions: Option<Vec<serde::de::IgnoredAny>>,
}

#[derive(Deserialize)]
struct ServiceSpec {
    #[serde(default)]
    selector: Option<LabelMap>,
}

#[derive(Deserialize)]
struct WorkloadSpec {
    template: PodTemplate,
}

#[derive(Deserialize)]
struct PodTemplate {
    #[serde(default)]
    metadata: Option<PodMetadata>,
}

#[derive(Deserialize)]
struct PodMetadata {
    #[serde(default)]
    labels: Option<LabelMap>,
}

impl RawMetadata<'_> {
    pub(crate) fn name(&self) -> Result<ObjectName, InvalidObject> {
        Ok(ObjectName {
            namespace: name("metadata.namespace", &self.namespace)?,
            name: name("metadata.name", &self.name)?,
        })
    }

    pub(crate) fn labels(&self, keep: bool) -> Result<Box<str>, InvalidObject> {
        let Some(json) = self.labels.filter(|_| keep) else {
            return Ok(Box::default());
        };
        let labels: Option<LabelMap> = json::read(json.get().as_bytes())?;
        let labels = labels.unwrap_or_default();
        Ok(label_text::write(&labels))
    }
}

impl RawItem<'_, HpaSpec<'_>> {
    fn hpa(self, labels: bool) -> Result<Hpa, InvalidObject> {
        let target = self.spec.scale_target_ref;
        let status: Option<HpaStatus> = self
            .status
            .map(|json| json::read(json.get().as_bytes()))
            .transpose()?
            .flatten();
        let status = status.unwrap_or_default();
        let observed = status.current_replicas.is_some()
            || status.observed_generation.is_some()
            || status.conditions.is_some_and(|conditions| !conditions.is_empty());
        let current = status.current_replicas.unwrap_or(0);
        Ok(Hpa {
            name: self.metadata.name()?,
            own_labels: self.metadata.labels(labels)?,
            target: ScaleTarget {
                group: target
                    .api_version
                    .rsplit_once('/')
                    .map_or("", |(group, _)| group)
                    .into(),
                kind: target.kind.into(),
                name: name("spec.scaleTargetRef.name", &target.name)?,
            },
            max_replicas: replicas("spec.maxReplicas", self.spec.max_replicas, 1)?,
            current_replicas: observed
                .then(|| replicas("status.currentReplicas", current, 0))
                .transpose()?,
            demand: None,
            state: None,
        })
    }
}

impl RawItem<'_, ServiceSpec> {
    fn service(self, labels: bool) -> Result<Service, InvalidObject> {
        Ok(Service {
            name: self.metadata.name()?,
            own_labels: self.metadata.labels(labels)?,
            selector: self.spec.selector.unwrap_or_default(),
        })
    }
}

impl RawItem<'_, WorkloadSpec> {
    fn workload(self, labels: bool) -> Result<Workload, InvalidObject> {
        let pods = self.spec.template.metadata.and_then(|metadata| metadata.labels);
        Ok(Workload {
            name: self.metadata.name()?,
            own_labels: self.metadata.labels(labels)?,
            labels: pods.unwrap_or_default(),
            ready: None,
        })
    }
}

impl RawItem<'_, &RawValue> {
    fn policy(self) -> Result<PolicyObject, InvalidObject> {
        Ok(PolicyObject {
            name: self.metadata.name()?,
            spec: self.spec.get().into(),
        })
    }
}

pub(crate) fn name(field: &'static str, text: &str) -> Result<Name, InvalidObject> {
    Name::parse(text).map_err(|error| InvalidObject::Name { field, error })
}

fn replicas(field: &'static str, value: i64, min: u32) -> Result<u32, InvalidObject> {
    u32::try_from(value)
        .ok()
        .filter(|n| *n >= min)
        .ok_or(InvalidObject::Replicas { field, value, min })
}

#[cfg(test)]
mod tests;
