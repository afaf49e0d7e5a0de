//! The rows of pods: the addresses of each pod, and since when it has them.
//!
//! Requests are counted by address, so a row exists only where it is known whose an address is.

use super::Row;
use crate::kube::{EndpointSlice, Object, PodObject};
use crate::load::Load;
use crate::name::{Name, ObjectName};
use crate::signals::Signals;
use crate::time::Time;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The addresses of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodAddresses {
    /// Since when the pod is known to have all of them. An earlier request may have been for another pod.
    pub since: Time,
    /// The addresses, sorted; at least one.
    pub addresses: Vec<IpAddr>,
}

impl PodAddresses {
    /// The addresses as a name, which a row can have as its label. `None` if there are too many of them for a name.
    fn to_name(&self) -> Option<Name> {
        let addresses = self.addresses.iter().map(|address| match address {
            IpAddr::V4(address) => format!(".{:08x}", address.to_bits()),
            IpAddr::V6(address) => format!(".{:032x}", address.to_bits()),
        });
        let text = format!("{}{}", self.since.unix_millis(), addresses.collect::<String>());
        Name::parse(&text).ok()
    }

    /// Parses the label of a row, with its namespace. `None` if it is not one of a pod.
    #[must_use]
    pub fn parse(label: &str) -> Option<Self> {
        let (_, text) = label.split_once('/')?;
        let mut parts = text.split('.');
        let since = Time::from_unix_millis(parts.next()?.parse().ok()?);
        let addresses: Option<Vec<_>> = parts.map(address).collect();
        let addresses = addresses.filter(|addresses| !addresses.is_empty())?;
        Some(Self { since, addresses })
    }
}

fn address(text: &str) -> Option<IpAddr> {
    match text.len() {
        8 => u32::from_str_radix(text, 16).ok().map(|bits| IpAddr::V4(bits.into())),
        32 => u128::from_str_radix(text, 16).ok().map(|bits| IpAddr::V6(bits.into())),
        _ => None,
    }
}

/// What the EndpointSlices say of one pod.
#[derive(Debug, Default)]
pub(super) struct PodEndpoints {
    /// By address, the earliest time of those that the slices have. A slice that gets an address from another one is younger.
    since: BTreeMap<IpAddr, Time>,
    is_ready: bool,
}

impl PodEndpoints {
    pub(super) fn collect<'a>(pod: &ObjectName, slices: impl Iterator<Item = &'a EndpointSlice>) -> Self {
        let mut all = Self::default();
        let slices = slices.filter(|slice| slice.name.namespace == pod.namespace);
        let endpoints = slices.flat_map(|slice| &slice.endpoints);
        for endpoint in endpoints.filter(|endpoint| endpoint.pod == pod.name) {
            let since = Time::from_unix_millis(endpoint.since);
            let earliest = all.since.entry(endpoint.address).or_insert(since);
            *earliest = since.min(*earliest);
            all.is_ready |= endpoint.is_ready;
        }
        all
    }

    pub(super) fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.since.keys().copied()
    }

    /// The row of the pod, if no other pod has one of the addresses. `None` if it is not ready.
    pub(super) fn row(&self, pod: &PodObject) -> Option<Row> {
        let addresses = PodAddresses {
            since: self.since.values().copied().max().filter(|_| self.is_ready)?,
            addresses: self.addresses().collect(),
        };
        let label = ObjectName {
            namespace: pod.name.namespace.clone(),
            name: addresses.to_name()?,
        };
        Some(Row {
            name: pod.name.clone(),
            label,
            load: Load {
                current: 0,
                target: 0,
                max: 0,
            },
            signals: Signals::default(),
            labels: pod.own_labels.clone(),
        })
    }
}

/// The pods for which a slice has that address.
pub(super) fn with_address(slice: &EndpointSlice, address: IpAddr) -> impl Iterator<Item = ObjectName> {
    let endpoints = slice.endpoints.iter();
    endpoints
        .filter(move |endpoint| endpoint.address == address)
        .map(|endpoint| ObjectName {
            namespace: slice.name.namespace.clone(),
            name: endpoint.pod.clone(),
        })
}

/// How many endpoints of an object name a pod of another namespace.
pub(super) fn foreign_endpoints(object: &Object) -> u64 {
    match object {
        Object::EndpointSlice(slice) => slice.foreign_endpoints.into(),
        Object::Hpa(_) | Object::Service(_) | Object::Workload(_) | Object::Policy(_) | Object::Pod(_) => 0,
    }
}

/// The rows of all pods, and how many pods have a disputed address.
pub(super) fn rows(objects: &[&Object]) -> (Vec<Row>, u64) {
    let slices = objects.iter().filter_map(|object| match object {
        Object::EndpointSlice(slice) => Some(slice),
        Object::Hpa(_) | Object::Service(_) | Object::Workload(_) | Object::Policy(_) | Object::Pod(_) => None,
    });
    let (mut rows, mut disputed) = (BTreeMap::new(), BTreeMap::new());
    for object in objects {
        let Object::Pod(pod) = object else { continue };
        let endpoints = PodEndpoints::collect(&pod.name, slices.clone());
        let is_disputed = endpoints.addresses().any(|address| {
            let mut pods = slices.clone().flat_map(|slice| with_address(slice, address));
            pods.any(|other| other != pod.name)
        });
        // If several lists have the pod, the first one counts.
        disputed.entry(&pod.name).or_insert(is_disputed);
        rows.entry(&pod.name)
            .or_insert(endpoints.row(pod).filter(|_| !is_disputed));
    }
    let disputed = disputed.into_values().filter(|is_disputed| *is_disputed).count();
    (rows.into_values().flatten().collect(), disputed as u64)
}

#[cfg(test)]
mod tests;
