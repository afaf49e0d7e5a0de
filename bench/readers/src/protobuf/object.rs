//! One object, as `burst_model::kube::object` reads it of JSON.

use std::str::{Utf8Error, from_utf8};

use burst_model::{
    kube::{Hpa, Object, ObjectKind, ScaleTarget, Service, Source, Workload, object::InvalidObject, object::LabelMap},
    label_text,
    name::{Name, ObjectName},
};
use bytes::Bytes;
use prost::{DecodeError, Message as _};

use super::message::{self, Entry, ObjectMeta};

/// Why one object is left out.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unread {
    /// No message, or one of another type.
    #[error("{0}")]
    Message(#[from] DecodeError),
    /// A text that is none.
    #[error("{0}")]
    Text(#[from] Utf8Error),
    /// A message that is no object.
    #[error("{0}")]
    Object(#[from] InvalidObject),
    /// A kind that the API server has as JSON alone.
    #[error("a custom resource is never protobuf")]
    Custom,
}

pub(super) fn read(source: &Source, item: Bytes) -> Result<Object, Unread> {
    let labels = source.keep_labels;
    Ok(match source.kind {
        ObjectKind::Hpas => Object::Hpa(hpa(message::Hpa::decode(item)?, labels)?),
        ObjectKind::Services => Object::Service(service(message::Service::decode(item)?, labels)?),
        ObjectKind::Workloads => Object::Workload(workload(message::Workload::decode(item)?, labels)?),
        ObjectKind::Policies => return Err(Unread::Custom),
    })
}

fn hpa(hpa: message::Hpa, labels: bool) -> Result<Hpa, Unread> {
    let metadata = hpa.metadata.unwrap_or_default();
    let spec = hpa.spec.unwrap_or_default();
    let target = spec.scale_target_ref.unwrap_or_default();
    let status = hpa.status.unwrap_or_default();
    // Go writes a number that is no pointer even where it is 0, which JSON leaves out.
    let observed =
        status.current_replicas != 0 || status.observed_generation.is_some() || status.last_condition.is_some();
    let current = || replicas("status.currentReplicas", status.current_replicas, 0);
    let group = from_utf8(&target.api_version)?.rsplit_once('/');
    Ok(Hpa {
        name: object_name(&metadata)?,
        own_labels: own_labels(&metadata, labels)?,
        target: ScaleTarget {
            group: group.map_or("", |(group, _)| group).into(),
            kind: from_utf8(&target.kind)?.into(),
            name: name("spec.scaleTargetRef.name", &target.name)?,
        },
        max_replicas: replicas("spec.maxReplicas", spec.max_replicas, 1)?,
        current_replicas: observed.then(current).transpose()?,
    })
}

fn service(service: message::Service, labels: bool) -> Result<Service, Unread> {
    let metadata = service.metadata.unwrap_or_default();
    Ok(Service {
        name: object_name(&metadata)?,
        own_labels: own_labels(&metadata, labels)?,
        selector: pairs(&service.spec.unwrap_or_default().selector)?,
    })
}

fn workload(workload: message::Workload, labels: bool) -> Result<Workload, Unread> {
    let metadata = workload.metadata.unwrap_or_default();
    let template = workload.spec.and_then(|spec| spec.template);
    let pods = template.and_then(|template| template.metadata).unwrap_or_default();
    Ok(Workload {
        name: object_name(&metadata)?,
        own_labels: own_labels(&metadata, labels)?,
        labels: pairs(&pods.labels)?,
    })
}

pub(super) fn object_name(metadata: &ObjectMeta) -> Result<ObjectName, Unread> {
    Ok(ObjectName {
        namespace: name("metadata.namespace", &metadata.namespace)?,
        name: name("metadata.name", &metadata.name)?,
    })
}

fn own_labels(metadata: &ObjectMeta, wanted: bool) -> Result<Box<str>, Unread> {
    if !wanted {
        return Ok(Box::default());
    }
    let entries = metadata.labels.iter().cloned().map(Entry::decode);
    let labels = pairs(&entries.collect::<Result<Vec<_>, _>>()?)?;
    Ok(label_text::write(&labels))
}

fn pairs(entries: &[Entry]) -> Result<LabelMap, Unread> {
    let pair = |entry: &Entry| Ok((from_utf8(&entry.key)?.into(), from_utf8(&entry.value)?.into()));
    entries.iter().map(pair).collect()
}

fn name(field: &'static str, text: &[u8]) -> Result<Name, Unread> {
    let name = Name::parse(from_utf8(text)?);
    Ok(name.map_err(|error| InvalidObject::Name { field, error })?)
}

fn replicas(field: &'static str, value: i32, least: u32) -> Result<u32, InvalidObject> {
    let value = i64::from(value);
    let number = u32::try_from(value).ok().filter(|number| *number >= least);
    number.ok_or(InvalidObject::Replicas {
        field,
        value,
        min: least,
    })
}
