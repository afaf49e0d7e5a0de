//! Policy objects: the leader reads and publishes them, and every VM evaluates them.
//!
//! The policies of a namespace form one set that is in force as a whole. Without one of its policies a set would allow
//! more than its author wrote, so a set with an invalid policy is refused and the previous set stays in force. Sets are
//! independent: an invalid policy in one namespace does not delay those of another.

mod effective;

pub use effective::{EffectivePolicies, PoliciesUnavailable};

use crate::hash;
use crate::kube::PolicyObject;
use crate::printable::printable;
use burst_policy::cost::{self, MemoryQuota, QuotaExceeded};
use burst_policy::{Policy, PolicyError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The longest reason, in characters. It may quote the invalid value; every thread stores it, and names it in denials.
const MAX_REASON: usize = 1024;

/// The sets of all namespaces that have policies, sorted by namespace. The leader publishes them to the other VMs.
pub type PolicySets = Vec<PolicySet>;

/// The policies of one namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicySet {
    /// The name of the namespace.
    pub namespace: Box<str>,
    /// The last valid set: the name of each policy and its `spec` as JSON. `None` if no set was valid yet.
    pub in_force: Option<Vec<NamedSpec>>,
    /// Why the current policies are not in force, if they are not.
    pub refused: Option<String>,
}

/// Collects the policies that the leader reads into sets.
#[derive(Debug)]
pub(crate) struct PolicyCollector {
    /// The sets that were published last, if any.
    published: Option<PolicySets>,
    /// The hash of the objects from which the sets were made.
    input_hash: Option<u64>,
    sizes: SizeCache,
}

/// The size of each set in bytes, or why it is refused, by the hash of the set. When one namespace changes, the others
/// are not compiled again.
type SizeCache = BTreeMap<u64, Result<usize, String>>;

/// The policy objects of a namespace, and a message about one that could not be read.
#[derive(Debug, Hash)]
struct NamespaceObjects<'a> {
    namespace: &'a str,
    specs: Vec<&'a PolicyObject>,
    bad: Option<&'a str>,
}

/// Returns the index of a namespace among sorted ones, or where to insert it.
fn position<T>(sets: &[T], namespace: &str, of: impl Fn(&T) -> &str) -> Result<usize, usize> {
    sets.binary_search_by(|set| of(set).cmp(namespace))
}

/// Returns the entry of a namespace, and adds it if there is none.
fn entry<'a, 'b>(all: &'b mut Vec<NamespaceObjects<'a>>, namespace: &'a str) -> Option<&'b mut NamespaceObjects<'a>> {
    let index = position(all, namespace, |set| set.namespace).unwrap_or_else(|index| {
        let (specs, bad) = (Vec::new(), None);
        all.insert(index, NamespaceObjects { namespace, specs, bad });
        index
    });
    all.get_mut(index)
}

impl PolicyCollector {
    /// Continues from the sets that the last leader published.
    pub(crate) fn new(published: Option<PolicySets>) -> Self {
        Self {
            published,
            input_hash: None,
            sizes: SizeCache::new(),
        }
    }

    /// Returns the number of namespaces whose policies are refused.
    pub(crate) fn refused(&self) -> usize {
        let sets = self.published.iter().flatten();
        sets.filter(|set| set.refused.is_some()).count()
    }

    /// Takes all current objects, and messages about those that could not be read. Returns the sets if they changed,
    /// and warnings to log.
    pub(crate) fn update<'a>(
        &mut self,
        root: Option<&str>,
        objects: impl Iterator<Item = &'a PolicyObject>,
        bad: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> (Option<PolicySets>, Vec<String>) {
        let mut all = Vec::new();
        for policy in objects {
            let set = entry(&mut all, policy.name.namespace.as_str());
            set.into_iter().for_each(|set| set.specs.push(policy));
        }
        for (name, line) in bad {
            let namespace = name.split_once('/').map_or("", |(namespace, _)| namespace);
            entry(&mut all, namespace)
                .into_iter()
                .for_each(|set| set.bad = Some(line));
        }
        let input_hash = Some(hash::of(&all));
        if input_hash == self.input_hash {
            return (None, Vec::new());
        }
        self.input_hash = input_hash;
        let before = self.published.as_deref().unwrap_or_default();
        let mut known = std::mem::take(&mut self.sizes);
        let mut size = |namespace: &str, specs: &[NamedSpec]| {
            let mark = hash::of(&(namespace, specs));
            let fresh = || {
                known
                    .remove(&mark)
                    .unwrap_or_else(|| compile(namespace, None, specs).map(|read| read.bytes))
            };
            self.sizes.entry(mark).or_insert_with(fresh).clone()
        };
        let mut candidates: Vec<_> = all
            .iter()
            .map(|found| Candidate::of(found, find_namespace(before, found.namespace), &mut size))
            .collect();
        apply_quota(root, &mut candidates);
        let sets: PolicySets = candidates.into_iter().map(Candidate::into_set).collect();
        let is_new = |set: &&PolicySet| {
            let before = find_namespace(before, &set.namespace);
            set.refused.as_ref() != before.and_then(|before| before.refused.as_ref())
        };
        let lines = sets.iter().filter(is_new).filter_map(PolicySet::warning).collect();
        let sets = Some(sets).filter(|sets| self.published.as_ref() != Some(sets));
        if sets.is_some() {
            self.published.clone_from(&sets);
        }
        (sets, lines)
    }
}

/// Returns the set of a namespace.
fn find_namespace<'a>(sets: &'a [PolicySet], namespace: &str) -> Option<&'a PolicySet> {
    sets.get(position(sets, namespace, |set| &set.namespace).ok()?)
}

/// The name of a policy, and its `spec` as JSON.
type NamedSpec = (Box<str>, Box<str>);

/// The policies of a namespace and the memory that they need.
#[derive(Debug)]
struct Candidate<'a> {
    namespace: &'a str,
    /// The current policies with their size, or why they are refused.
    now: Result<(usize, Vec<NamedSpec>), String>,
    /// The policies that were in force before, with their size.
    before: Option<(usize, &'a [NamedSpec])>,
}

impl<'a> Candidate<'a> {
    fn of(
        found: &NamespaceObjects<'a>,
        before: Option<&'a PolicySet>,
        size: &mut impl FnMut(&str, &[NamedSpec]) -> Result<usize, String>,
    ) -> Self {
        let namespace = found.namespace;
        let spec = |policy: &&PolicyObject| (policy.name.name.as_str().into(), policy.spec.clone());
        let specs: Vec<_> = found.specs.iter().map(spec).collect();
        let now = match found.bad {
            Some(line) => Err(line.to_owned()),
            None => size(namespace, &specs).map(|bytes| (bytes, specs)),
        };
        // A leader with an older version may have published a set that exceeds the limits of this one.
        let before = before.and_then(|before| before.in_force.as_deref());
        let before = before.and_then(|specs| Some((size(namespace, specs).ok()?, specs)));
        Self { namespace, now, before }
    }

    /// Returns the size of the policies that should be in force.
    fn bytes(&self) -> usize {
        let now = self.now.as_ref().map(|(bytes, _)| *bytes).ok();
        now.or(self.before.map(|(bytes, _)| bytes)).unwrap_or_default()
    }

    /// Reserves memory for the current policies, or else for the previous ones.
    fn take(&mut self, quota: &mut MemoryQuota) {
        if self.now.as_ref().is_ok_and(|(bytes, _)| !quota.take(*bytes)) {
            self.now = Err(QuotaExceeded.to_string());
        }
        if self.now.is_err() {
            self.before = self.before.filter(|(bytes, _)| quota.take(*bytes));
        }
    }

    fn into_set(self) -> PolicySet {
        let (in_force, refused) = match self.now {
            Ok((_, specs)) => (Some(specs), None),
            Err(reason) => (self.before.map(|(_, specs)| specs.to_vec()), Some(reason)),
        };
        PolicySet {
            namespace: self.namespace.into(),
            in_force,
            refused,
        }
    }
}

/// Refuses the sets for which there is no memory.
fn apply_quota(root: Option<&str>, sets: &mut [Candidate<'_>]) {
    let mut order: Vec<_> = sets.iter().map(|set| (set.namespace, set.bytes())).collect();
    cost::quota_order(root, &mut order);
    let mut quota = MemoryQuota::default();
    for (namespace, _) in order {
        let set = position(sets, namespace, |set| set.namespace)
            .ok()
            .and_then(|index| sets.get_mut(index));
        set.into_iter().for_each(|set| set.take(&mut quota));
    }
}

impl PolicySet {
    fn warning(&self) -> Option<String> {
        let namespace = &self.namespace;
        let instead = match self.in_force {
            Some(_) => "the previous ones stay in force",
            None => "there were no previous ones, so no external metric is served there",
        };
        let reason = self.refused.as_ref()?;
        Some(format!(
            "the ExternalMetricPolicies of namespace {namespace} are refused: {reason}; {instead}"
        ))
    }
}

/// The checked policies of a namespace.
#[derive(Debug)]
struct CompiledSet {
    policies: Vec<Policy>,
    /// Their size in bytes, including their specs.
    bytes: usize,
}

/// Checks the policies of a namespace. They apply to the namespace `applies`, or to all if that is `None`.
fn compile(namespace: &str, applies: Option<&str>, specs: &[NamedSpec]) -> Result<CompiledSet, String> {
    let mut policies = Vec::with_capacity(specs.len());
    for (name, spec) in specs {
        let title = format!("{namespace}/{name}");
        let policy = Policy::parse(&title, applies, spec);
        policies.push(policy.map_err(|PolicyError { path, kind }| {
            printable(format_args!("{title}: spec.{path}: {kind}"), MAX_REASON)
        })?);
    }
    let cost = cost::check_set(&policies.iter().collect::<Vec<_>>());
    let bytes = cost.map_err(|(index, excess)| {
        let title = policies.get(index).map_or("", Policy::name);
        format!("the policies up to {title} have {excess}")
    })?;
    let of_specs: usize = specs.iter().map(|(_, spec)| spec.len()).sum();
    let bytes = bytes + of_specs;
    Ok(CompiledSet { policies, bytes })
}

#[cfg(test)]
mod tests;
