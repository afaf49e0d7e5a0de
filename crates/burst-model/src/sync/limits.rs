//! How much is kept of the cluster. A namespace comes first: what one tenant creates is left out before it costs another
//! one anything. Sizes are those of [`Object::size`].

use crate::kube::Object;
use std::rc::Rc;

/// The most that is kept of one namespace in one list. Kubernetes is made for 5,000 Services and 2,000 Deployments in a
/// namespace; this is some 20,000 Services, or 8,000 Deployments with ten labels each.
/// <https://github.com/kubernetes/community/blob/master/sig-scalability/configs-and-limits/thresholds.md>
pub const MAX_NAMESPACE_BYTES: usize = 16 << 20;

/// The most that is kept of one list.
pub const MAX_LIST_BYTES: usize = 64 << 20;

/// The most that is kept of all lists. While all of them are read anew it is there twice, and a successor is left as much
/// again: together less than the 1 GiB at which Envoy ends a VM.
pub const MAX_TOTAL_BYTES: usize = 128 << 20;

/// A list is looked through again when it has grown by this much.
const RECHECK_GROWTH: usize = MAX_NAMESPACE_BYTES / 16;

/// What the objects of a list take.
#[derive(Debug)]
pub struct ByteAccount {
    bytes: usize,
    /// What those of a namespace may take.
    namespace_limit: usize,
    /// The bytes up to which no namespace takes more, or not much.
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
    /// Counts an object in.
    pub fn add(&mut self, object: &Object) {
        self.bytes = self.bytes.saturating_add(object.size());
    }

    /// Counts an object out.
    pub fn remove(&mut self, object: &Object) {
        self.bytes = self.bytes.saturating_sub(object.size());
    }

    /// What all objects take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Has the next look at a list be one at each namespace, however little it has grown.
    pub fn force_check(&mut self) {
        self.next_check = MAX_NAMESPACE_BYTES;
    }

    /// Why the objects that were taken out are left out.
    #[must_use]
    pub fn reason(&self) -> String {
        format!(
            "its namespace has more than {} KiB in this list",
            self.namespace_limit >> 10
        )
    }

    /// Takes out what is too much. Of a namespace the alphabetically first objects stay, where `objects` are sorted. If they
    /// take more than `room` together, each namespace has half as much as before, until they do not: so the largest ones
    /// lose objects, and the others none.
    pub fn evict_over_limit(&mut self, objects: &mut Vec<Rc<Object>>, max_bytes: usize) -> Vec<Rc<Object>> {
        if self.bytes <= self.next_check.min(max_bytes) {
            return Vec::new();
        }
        loop {
            let mut tally = NamespaceUsage::new(self.namespace_limit);
            self.bytes = objects
                .iter()
                .filter(|object| tally.admit(object))
                .map(|object| object.size())
                .sum();
            if self.bytes <= max_bytes || self.namespace_limit == 0 {
                break;
            }
            self.namespace_limit /= 2;
        }
        self.next_check = self.bytes.saturating_add(RECHECK_GROWTH);
        let mut tally = NamespaceUsage::new(self.namespace_limit);
        let (fits, rest) = std::mem::take(objects)
            .into_iter()
            .partition(|object| tally.admit(object));
        *objects = fits;
        rest
    }
}

/// What is kept of a list whose objects come namespace by namespace.
struct NamespaceUsage {
    limit: usize,
    /// The last object that came, and what those of its namespace take up to it.
    last: Option<Rc<Object>>,
    namespace_bytes: usize,
}

impl NamespaceUsage {
    fn new(per_namespace: usize) -> Self {
        Self {
            limit: per_namespace,
            last: None,
            namespace_bytes: 0,
        }
    }

    fn admit(&mut self, object: &Rc<Object>) -> bool {
        let namespace = &object.name().namespace;
        if self
            .last
            .as_ref()
            .is_none_or(|last| last.name().namespace != *namespace)
        {
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
    use crate::kube::ObjectKind;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// A policy that takes so many bytes.
    fn policy(namespace: &str, name: usize, size: usize) -> Rc<Object> {
        let spec = "x".repeat((size - 512) / 4 - 2);
        let json = format!(r#"{{"metadata":{{"namespace":"{namespace}","name":"n{name:05}"}},"spec":"{spec}"}}"#);
        Rc::new(Object::parse(ObjectKind::Policies, &json, false).unwrap())
    }

    fn account(objects: &[Rc<Object>]) -> ByteAccount {
        let mut account = ByteAccount::default();
        objects.iter().for_each(|object| account.add(object));
        account
    }

    fn per_namespace(objects: &[Rc<Object>]) -> BTreeMap<&str, usize> {
        let mut bytes = BTreeMap::new();
        for object in objects {
            *bytes.entry(object.name().namespace.as_str()).or_default() += object.size();
        }
        bytes
    }

    #[test]
    fn a_namespace_just_below_its_limit_keeps_everything() {
        let size = 1 << 16;
        let most = MAX_NAMESPACE_BYTES / size;
        let all = |count: usize| ["a", "b"].map(|namespace| (0..count).map(move |n| policy(namespace, n, size)));
        for (count, over) in [(most, 0), (most + 1, 2), (10 * most, 18 * most)] {
            let mut objects: Vec<_> = all(count).into_iter().flatten().collect();
            let left_out = account(&objects).evict_over_limit(&mut objects, MAX_LIST_BYTES);
            assert_eq!(left_out.len(), over, "{count} objects");
            assert!(
                objects.is_sorted_by_key(|object| object.name().clone()),
                "the first of each stay"
            );
        }
    }

    proptest! {
        #[test]
        fn there_is_room_for_all_and_a_small_namespace_never_pays_for_a_large_one(
            namespaces in proptest::collection::vec((1..60usize, 1_000..60_000usize), 1..12),
            room in 100_000..4_000_000usize,
        ) {
            let of = |(place, (count, size)): (usize, &(usize, usize))| {
                let (namespace, size) = (format!("ns{place:02}"), *size);
                (0..*count).map(move |n| policy(&namespace, n, size)).collect::<Vec<_>>()
            };
            let all: Vec<_> = namespaces.iter().enumerate().flat_map(of).collect();
            let mut objects = all.clone();
            let mut account = account(&objects);
            let over = account.evict_over_limit(&mut objects, room);
            let (before, after) = (per_namespace(&all), per_namespace(&objects));
            prop_assert_eq!(objects.len() + over.len(), all.len());
            prop_assert_eq!(account.bytes(), after.values().sum::<usize>());
            prop_assert!(account.bytes() <= room);
            for (namespace, bytes) in &before {
                let is_small = *bytes <= room / (2 * before.len());
                prop_assert!(!is_small || after.get(namespace) == Some(bytes), "{} of {:?}", namespace, before);
            }
        }
    }
}
