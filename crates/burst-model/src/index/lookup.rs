//! Objects by what they have in common: the name of a workload and the target of an HPA, a label and a selector.

use crate::hash::{self, Fnv};
use crate::kube::{Object, Resource, ScaleTarget, Service, Source};
use crate::name::{Name, ObjectName};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::rc::Rc;

/// What objects of one namespace may have in common.
#[derive(Hash)]
pub(super) enum IndexKey<'a> {
    /// An HPA or a Service of that name.
    Named(&'a str, &'a str),
    /// A workload: group, kind and name.
    Is(&'a str, &'a str, &'a str),
    /// An HPA that scales such a workload.
    Scales(&'a str, &'a str, &'a str),
    /// A workload whose pods have that label.
    Has(&'a str, &'a str),
    /// A Service that selects pods by that label and maybe others.
    Selects(&'a str, &'a str),
}

/// An object, and the place of its list.
#[derive(Clone, Debug)]
pub(super) struct IndexedObject {
    pub(super) list: usize,
    pub(super) object: Rc<Object>,
}

/// Objects by the hash of each of their traits. Two traits may have one hash: who asks looks at what comes.
#[derive(Debug, Default)]
pub(super) struct ObjectIndex(HashMap<u64, Vec<IndexedObject>, BuildHasherDefault<Fnv>>);

/// The hashes of the traits of an object: the same ones for objects that take part in the same rows.
pub(super) fn index_keys(source: &Source, object: &Object) -> Vec<u64> {
    let ObjectName { namespace, name } = object.name();
    let (name, hash) = (name.as_str(), |of: IndexKey<'_>| hash_of(namespace, &of));
    match object {
        Object::Hpa(hpa) => vec![hash(IndexKey::Named(HPA, name)), hash(IndexKey::scales(&hpa.target))],
        Object::Service(service) => {
            let named = hash(IndexKey::Named(SERVICE, name));
            let selects = IndexKey::selects(service).map(&hash);
            [named].into_iter().chain(selects).collect()
        }
        Object::Workload(workload) => {
            let labels = workload
                .labels
                .iter()
                .map(|(key, value)| hash(IndexKey::Has(key, value)));
            let is = hash(IndexKey::is(&source.resource, name));
            [is].into_iter().chain(labels).collect()
        }
        Object::Policy(_) => Vec::new(),
    }
}

/// The kinds that are no workloads.
pub(super) const HPA: &str = "hpa";
pub(super) const SERVICE: &str = "service";

impl<'a> IndexKey<'a> {
    pub(super) fn is(resource: &'a Resource, name: &'a str) -> Self {
        Self::Is(&resource.group, &resource.kind, name)
    }

    /// What a target names.
    pub(super) fn is_target(target: &'a ScaleTarget) -> Self {
        Self::Is(&target.group, &target.kind, target.name.as_str())
    }

    pub(super) fn scales(target: &'a ScaleTarget) -> Self {
        Self::Scales(&target.group, &target.kind, target.name.as_str())
    }

    /// One of the labels that a Service selects by: the longest value is likely to be the one that few workloads have.
    fn selects(service: &'a Service) -> Option<Self> {
        let longest = service.selector.iter().max_by_key(|(_, value)| value.len());
        longest.map(|(key, value)| Self::Selects(key, value))
    }
}

fn hash_of(namespace: &Name, of: &IndexKey<'_>) -> u64 {
    hash::of(&(namespace.as_str(), of))
}

impl ObjectIndex {
    /// What may have a trait.
    pub(super) fn get(&self, namespace: &Name, of: &IndexKey<'_>) -> &[IndexedObject] {
        self.0.get(&hash_of(namespace, of)).map_or(&[], Vec::as_slice)
    }

    pub(super) fn add(&mut self, traits: &[u64], linked: &IndexedObject) {
        for one in traits {
            self.0.entry(*one).or_default().push(linked.clone());
        }
    }

    pub(super) fn remove(&mut self, traits: &[u64], linked: &IndexedObject) {
        for one in traits {
            let Some(all) = self.0.get_mut(one) else { continue };
            if let Some(place) = place(all, linked) {
                all.swap_remove(place);
            }
            if all.is_empty() {
                self.0.remove(one);
            }
        }
    }

    /// Lets go of so many traits; whether any are left.
    pub(super) fn release(&mut self, most: usize) -> bool {
        let gone: Vec<_> = self.0.keys().take(most).copied().collect();
        gone.iter().for_each(|one| drop(self.0.remove(one)));
        !self.0.is_empty()
    }

    /// Puts an object in the place of one with the same traits.
    pub(super) fn replace(&mut self, traits: &[u64], before: &IndexedObject, after: &IndexedObject) {
        for one in traits {
            let all = self.0.get_mut(one).map(Vec::as_mut_slice).unwrap_or_default();
            let found = place(all, before).and_then(|place| all.get_mut(place));
            found.into_iter().for_each(|found| found.clone_from(after));
        }
    }
}

fn place(all: &[IndexedObject], linked: &IndexedObject) -> Option<usize> {
    let is_it = |one: &IndexedObject| one.list == linked.list && Rc::ptr_eq(&one.object, &linked.object);
    all.iter().position(is_it)
}
