//! How much memory the objects may take. The limit of a namespace comes first: objects of one tenant are excluded before
//! they cost another tenant anything. Sizes are those of [`Object::size`].

use crate::kube::Object;
use std::rc::Rc;

/// The largest size of a namespace in one list, in bytes. Kubernetes supports 5,000 Services and 2,000 Deployments in a
/// namespace; this is some 20,000 Services, or 8,000 Deployments with ten labels each.
/// <https://github.com/kubernetes/community/blob/master/sig-scalability/configs-and-limits/thresholds.md>
pub const MAX_NAMESPACE_BYTES: usize = 16 << 20;

/// The largest size of one list, in bytes.
pub const MAX_LIST_BYTES: usize = 64 << 20;

/// The largest size of all lists, in bytes. While all lists are read again the objects are in memory twice, and a
/// checkpoint takes as much again. Together that is less than the 1 GiB at which Envoy ends a VM.
pub const MAX_TOTAL_BYTES: usize = 128 << 20;

/// The namespaces of a list are checked again when the list has grown by this much.
const RECHECK_GROWTH: usize = MAX_NAMESPACE_BYTES / 16;

/// The memory that the objects of one list take.
#[derive(Debug)]
pub struct ByteAccount {
    bytes: usize,
    /// The largest size of one namespace, in bytes.
    namespace_limit: usize,
    /// Up to this many bytes no namespace can exceed its limit, or not by much.
    next_check: usize,
}

impl Default for ByteAccount {
    fn default() -> Self {
        Self {
            bytes: 0,
            namespace_limit: MAX_NAMESPACE_BYTES,
            next_check: MAX_NAMESPACE_BYTES,
        }
    }
}

impl ByteAccount {
    /// Adds an object.
    pub fn add(&mut self, object: &Object) {
        self.bytes = self.bytes.saturating_add(object.size());
    }

    /// Subtracts an object.
    pub fn remove(&mut self, object: &Object) {
        self.bytes = self.bytes.saturating_sub(object.size());
    }

    /// The bytes of all objects.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Has the next call of [`evict_over_limit`](Self::evict_over_limit) check every namespace, however little the list has
    /// grown.
    pub fn force_check(&mut self) {
        self.next_check = MAX_NAMESPACE_BYTES;
    }

    /// Why the evicted objects were evicted.
    #[must_use]
    pub fn reason(&self) -> String {
        format!(
            "its namespace has more than {} KiB in this list",
            self.namespace_limit >> 10
        )
    }

    /// Removes the objects that exceed a limit from `objects`, which are sorted by name, and returns them. The first
    /// objects of a namespace stay. If all objects together exceed `max_bytes`, the limit of a namespace is halved until
    /// they do not. So the largest namespaces lose objects, and small ones do not.
    pub fn evict_over_limit(&mut self, objects: &mut Vec<Rc<Object>>, max_bytes: usize) -> Vec<Rc<Object>> {
        if self.bytes <= self.next_check.min(max_bytes) {
            return Vec::new();
        }
        self.bytes = bytes_within(objects, self.namespace_limit);
        while self.bytes > max_bytes && self.namespace_limit > 0 {
            self.namespace_limit /= 2;
            self.bytes = bytes_within(objects, self.namespace_limit);
        }
        self.next_check = self.bytes.saturating_add(RECHECK_GROWTH);
        let mut usage = NamespaceUsage::new(self.namespace_limit);
        let (admitted, evicted) = std::mem::take(objects)
            .into_iter()
            .partition(|object| usage.admit(object));
        *objects = admitted;
        evicted
    }
}

/// The bytes of the objects that fit into a limit for each namespace.
fn bytes_within(objects: &[Rc<Object>], namespace_limit: usize) -> usize {
    let mut usage = NamespaceUsage::new(namespace_limit);
    let admitted = objects.iter().filter(|object| usage.admit(object));
    admitted.map(|object| object.size()).sum()
}

/// Adds up the bytes of each namespace, for objects that come namespace by namespace.
struct NamespaceUsage {
    limit: usize,
    /// The last object.
    last: Option<Rc<Object>>,
    /// The bytes of its namespace so far.
    namespace_bytes: usize,
}

impl NamespaceUsage {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            last: None,
            namespace_bytes: 0,
        }
    }

    /// Adds an object. Returns whether its namespace is within the limit.
    fn admit(&mut self, object: &Rc<Object>) -> bool {
        let namespace = &object.name().namespace;
        let last = self.last.as_ref();
        if last.is_none_or(|last| last.name().namespace != *namespace) {
            self.last = Some(object.clone());
            self.namespace_bytes = 0;
        }
        self.namespace_bytes = self.namespace_bytes.saturating_add(object.size());
        self.namespace_bytes <= self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kube::{KeptFields, ObjectKind};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// A policy of that many bytes.
    fn policy(namespace: &str, name: usize, size: usize) -> Rc<Object> {
        let spec = "x".repeat((size - 512) / 4 - 2);
        let json = format!(r#"{{"metadata":{{"namespace":"{namespace}","name":"n{name:05}"}},"spec":"{spec}"}}"#);
        Rc::new(Object::parse(ObjectKind::Policies, &json, KeptFields::default()).unwrap())
    }

    fn account(objects: &[Rc<Object>]) -> ByteAccount {
        let mut account = ByteAccount::default();
        objects.iter().for_each(|object| account.add(object));
        account
    }

    fn bytes_by_namespace(objects: &[Rc<Object>]) -> BTreeMap<&str, usize> {
        let mut bytes = BTreeMap::new();
        for object in objects {
            *bytes.entry(object.name().namespace.as_str()).or_default() += object.size();
        }
        bytes
    }

    #[test]
    fn a_namespace_within_its_limit_keeps_every_object() {
        let size = 1 << 16;
        let most = MAX_NAMESPACE_BYTES / size;
        let all = |count: usize| ["a", "b"].map(|namespace| (0..count).map(move |n| policy(namespace, n, size)));
        for (count, over) in [(most, 0), (most + 1, 2), (10 * most, 18 * most)] {
            let mut objects: Vec<_> = all(count).into_iter().flatten().collect();
            let evicted = account(&objects).evict_over_limit(&mut objects, MAX_LIST_BYTES);
            assert_eq!(evicted.len(), over, "{count} objects");
            assert!(
                objects.is_sorted_by_key(|object| object.name().clone()),
                "the first objects of each namespace stay"
            );
        }
    }

    proptest! {
        #[test]
        fn all_lists_fit_and_a_small_namespace_never_loses_objects_to_a_large_one(
            namespaces in proptest::collection::vec((1..60usize, 1_000..60_000usize), 1..12),
            max_bytes in 100_000..4_000_000usize,
        ) {
            let of = |(index, (count, size)): (usize, &(usize, usize))| {
                let (namespace, size) = (format!("ns{index:02}"), *size);
                (0..*count).map(move |n| policy(&namespace, n, size)).collect::<Vec<_>>()
            };
            let all: Vec<_> = namespaces.iter().enumerate().flat_map(of).collect();
            let mut objects = all.clone();
            let mut account = account(&objects);
            let over = account.evict_over_limit(&mut objects, max_bytes);
            let (before, after) = (bytes_by_namespace(&all), bytes_by_namespace(&objects));
            prop_assert_eq!(objects.len() + over.len(), all.len());
            prop_assert_eq!(account.bytes(), after.values().sum::<usize>());
            prop_assert!(account.bytes() <= max_bytes);
            for (namespace, bytes) in &before {
                let is_small = *bytes <= max_bytes / (2 * before.len());
                prop_assert!(!is_small || after.get(namespace) == Some(bytes), "{} of {:?}", namespace, before);
            }
        }
    }
}
