//! An index of objects by the keys that join them: names, targets, labels and selectors.

use crate::hash::{self, Fnv};
use crate::kube::{EndpointSlice, Hpa, Object, PodObject, Resource, ScaleTarget, Service, Source, Workload};
use crate::name::{Name, ObjectName};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::net::IpAddr;
use std::rc::Rc;

/// A key under which objects of one namespace are found.
#[derive(Hash)]
pub(super) enum IndexKey<'a> {
    /// An HPA or a Service: kind and name.
    Name(&'a str, &'a str),
    /// A workload: group, kind and name.
    Workload(&'a str, &'a str, &'a str),
    /// An HPA, by its target: group, kind and name.
    Target(&'a str, &'a str, &'a str),
    /// A workload, by one label of its pods.
    Label(&'a str, &'a str),
    /// A Service, by one label of its selector.
    Selector(&'a str, &'a str),
    /// An EndpointSlice, by the name of a pod.
    Endpoint(&'a str),
    /// An EndpointSlice of any namespace, by an address.
    Address(IpAddr),
}

/// An object and the index of its list.
#[derive(Clone, Debug)]
pub(super) struct IndexedObject {
    pub(super) list: usize,
    pub(super) object: Rc<Object>,
}

impl IndexedObject {
    pub(super) fn hpa(&self) -> Option<&Hpa> {
        match &*self.object {
            Object::Hpa(hpa) => Some(hpa),
            Object::Service(_)
            | Object::Workload(_)
            | Object::Policy(_)
            | Object::EndpointSlice(_)
            | Object::Pod(_) => None,
        }
    }

    pub(super) fn service(&self) -> Option<&Service> {
        match &*self.object {
            Object::Service(service) => Some(service),
            Object::Hpa(_) | Object::Workload(_) | Object::Policy(_) | Object::EndpointSlice(_) | Object::Pod(_) => {
                None
            }
        }
    }

    pub(super) fn slice(&self) -> Option<&EndpointSlice> {
        match &*self.object {
            Object::EndpointSlice(slice) => Some(slice),
            Object::Hpa(_) | Object::Service(_) | Object::Workload(_) | Object::Policy(_) | Object::Pod(_) => None,
        }
    }

    pub(super) fn pod(&self) -> Option<&PodObject> {
        match &*self.object {
            Object::Pod(pod) => Some(pod),
            Object::Hpa(_)
            | Object::Service(_)
            | Object::Workload(_)
            | Object::Policy(_)
            | Object::EndpointSlice(_) => None,
        }
    }

    pub(super) fn workload(&self) -> Option<&Workload> {
        match &*self.object {
            Object::Workload(workload) => Some(workload),
            Object::Hpa(_) | Object::Service(_) | Object::Policy(_) | Object::EndpointSlice(_) | Object::Pod(_) => None,
        }
    }
}

/// Objects by the hash of each of their keys. Two keys may have the same hash, so callers compare what they find.
#[derive(Debug, Default)]
pub(super) struct ObjectIndex(HashMap<u64, Vec<IndexedObject>, BuildHasherDefault<Fnv>>);

/// The hashes of an object's keys. If an update keeps them equal, the object joins with the same objects as before,
/// except that the hashes of a Service cover only one label of its selector.
pub(super) fn index_keys(source: &Source, object: &Object) -> Vec<u64> {
    let ObjectName { namespace, name } = object.name();
    let (name, hash) = (name.as_str(), |key: IndexKey<'_>| hash_of(namespace, &key));
    match object {
        Object::Hpa(hpa) => vec![hash(IndexKey::Name(HPA, name)), hash(IndexKey::target(&hpa.target))],
        Object::Service(service) => {
            let named = hash(IndexKey::Name(SERVICE, name));
            let selects = IndexKey::selector(service).map(&hash);
            [named].into_iter().chain(selects).collect()
        }
        Object::Workload(workload) => {
            let labels = workload
                .labels
                .iter()
                .map(|(key, value)| hash(IndexKey::Label(key, value)));
            let is = hash(IndexKey::workload(&source.resource, name));
            [is].into_iter().chain(labels).collect()
        }
        Object::EndpointSlice(slice) => {
            let endpoints = slice.endpoints.iter();
            let keys = endpoints.flat_map(|endpoint| {
                let pod = hash(IndexKey::Endpoint(endpoint.pod.as_str()));
                [pod, hash_of_address(endpoint.address)]
            });
            keys.collect()
        }
        Object::Pod(_) => vec![hash(IndexKey::Name(POD, name))],
        Object::Policy(_) => Vec::new(),
    }
}

/// The kinds that are not workloads.
pub(super) const HPA: &str = "hpa";
pub(super) const SERVICE: &str = "service";
pub(super) const POD: &str = "pod";

impl<'a> IndexKey<'a> {
    pub(super) fn workload(resource: &'a Resource, name: &'a str) -> Self {
        Self::Workload(&resource.group, &resource.kind, name)
    }

    /// The key of the workload that a target names.
    pub(super) fn workload_of(target: &'a ScaleTarget) -> Self {
        Self::Workload(&target.group, &target.kind, target.name.as_str())
    }

    pub(super) fn target(target: &'a ScaleTarget) -> Self {
        Self::Target(&target.group, &target.kind, target.name.as_str())
    }

    /// One label of a Service's selector: the one with the longest value, because few workloads are likely to share it.
    fn selector(service: &'a Service) -> Option<Self> {
        let longest = service.selector.iter().max_by_key(|(_, value)| value.len());
        longest.map(|(key, value)| Self::Selector(key, value))
    }
}

fn hash_of(namespace: &Name, key: &IndexKey<'_>) -> u64 {
    hash::of(&(namespace.as_str(), key))
}

/// A user of another namespace may claim an address too.
fn hash_of_address(address: IpAddr) -> u64 {
    hash::of(&("", &IndexKey::Address(address)))
}

impl ObjectIndex {
    /// The objects, of any namespace, that may have an address.
    pub(super) fn get_address(&self, address: IpAddr) -> &[IndexedObject] {
        self.0.get(&hash_of_address(address)).map_or(&[], Vec::as_slice)
    }

    /// The objects that may have a key.
    pub(super) fn get(&self, namespace: &Name, key: &IndexKey<'_>) -> &[IndexedObject] {
        self.0.get(&hash_of(namespace, key)).map_or(&[], Vec::as_slice)
    }

    pub(super) fn add(&mut self, keys: &[u64], object: &IndexedObject) {
        for key in keys {
            self.0.entry(*key).or_default().push(object.clone());
        }
    }

    pub(super) fn remove(&mut self, keys: &[u64], object: &IndexedObject) {
        for key in keys {
            let Some(all) = self.0.get_mut(key) else { continue };
            if let Some(index) = position(all, object) {
                all.swap_remove(index);
            }
            if all.is_empty() {
                self.0.remove(key);
            }
        }
    }

    /// Frees at count `count` keys. Returns whether any are left.
    pub(super) fn release(&mut self, count: usize) -> bool {
        let gone: Vec<_> = self.0.keys().take(count).copied().collect();
        gone.iter().for_each(|key| drop(self.0.remove(key)));
        !self.0.is_empty()
    }

    /// Replaces an object by one with the same keys.
    pub(super) fn replace(&mut self, keys: &[u64], before: &IndexedObject, after: &IndexedObject) {
        for key in keys {
            let all = self.0.get_mut(key).map(Vec::as_mut_slice).unwrap_or_default();
            let found = position(all, before).and_then(|index| all.get_mut(index));
            found.into_iter().for_each(|found| found.clone_from(after));
        }
    }
}

fn position(all: &[IndexedObject], object: &IndexedObject) -> Option<usize> {
    let is_it = |one: &IndexedObject| one.list == object.list && Rc::ptr_eq(&one.object, &object.object);
    all.iter().position(is_it)
}
