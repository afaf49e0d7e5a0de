//! Policies that are objects, from the leader that reads them to every VM that goes by them.
//!
//! All of a namespace are one set, which is in force as a whole: with one policy left out, more would pass than anybody
//! wrote. So a set with something wrong in it is refused, and the one before it stays in force. Namespaces do not
//! wait for each other: nobody can hold up another's policies.

mod effective;

pub use effective::{EffectivePolicies, PoliciesUnavailable};

use crate::hash;
use crate::kube::PolicySpec;
use crate::printable::printable;
use burst_policy::cost::{self, MemoryQuota, QuotaExceeded};
use burst_policy::{Policy, PolicyError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Bytes of a reason, which may quote what is wrong: every thread keeps it, and says it where it refuses a metric.
const MAX_REASON: usize = 1024;

/// The policies of every namespace that has any, by its name: what the leader tells the other VMs.
pub type PolicySets = Vec<PolicySet>;

/// The policies of one namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicySet {
    /// Which.
    pub namespace: Box<str>,
    /// The last ones without a fault: the name of each, and its `spec` as JSON. `None` before the first.
    pub in_force: Option<Vec<NamedSpec>>,
    /// Why those that there are now are not in force.
    pub refused: Option<String>,
}

/// The policies as the leader read them.
#[derive(Debug)]
pub(crate) struct PolicyCollector {
    /// What was told last; `None` before anything was.
    published: Option<PolicySets>,
    /// The hash of what that was made of.
    input_hash: Option<u64>,
    sizes: SizeCache,
}

/// The bytes of sets, or why they cannot be in force, by the hash of each: when one namespace changes, the others are not
/// read again.
type SizeCache = BTreeMap<u64, Result<usize, String>>;

/// A namespace's objects: the spec of each by its name, and a line about one that could not even be read.
#[derive(Debug, Hash)]
struct NamespaceObjects<'a> {
    namespace: &'a str,
    specs: Vec<&'a PolicySpec>,
    bad: Option<&'a str>,
}

/// Where a namespace stands among others, or would.
fn position<T>(sets: &[T], namespace: &str, of: impl Fn(&T) -> &str) -> Result<usize, usize> {
    sets.binary_search_by(|set| of(set).cmp(namespace))
}

fn found<'a, 'b>(all: &'b mut Vec<NamespaceObjects<'a>>, namespace: &'a str) -> Option<&'b mut NamespaceObjects<'a>> {
    let place = position(all, namespace, |found| found.namespace).unwrap_or_else(|place| {
        let (specs, bad) = (Vec::new(), None);
        all.insert(place, NamespaceObjects { namespace, specs, bad });
        place
    });
    all.get_mut(place)
}

impl PolicyCollector {
    /// Goes on from what the last leader told.
    pub(crate) fn new(told: Option<PolicySets>) -> Self {
        Self {
            published: told,
            input_hash: None,
            sizes: SizeCache::new(),
        }
    }

    /// The namespaces whose policies are refused.
    pub(crate) fn refused(&self) -> usize {
        let told = self.published.iter().flatten();
        told.filter(|set| set.refused.is_some()).count()
    }

    /// Takes all objects that there are, and the lines about those that could not be read. The sets where they are
    /// others than before, and what to warn of.
    pub(crate) fn update<'a>(
        &mut self,
        root: Option<&str>,
        objects: impl Iterator<Item = &'a PolicySpec>,
        bad: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> (Option<PolicySets>, Vec<String>) {
        let mut all = Vec::new();
        for policy in objects {
            let set = found(&mut all, policy.name.namespace.as_str());
            set.into_iter().for_each(|set| set.specs.push(policy));
        }
        for (name, line) in bad {
            let namespace = name.split_once('/').map_or("", |(namespace, _)| namespace);
            found(&mut all, namespace)
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

/// The set of a namespace.
fn find_namespace<'a>(sets: &'a [PolicySet], namespace: &str) -> Option<&'a PolicySet> {
    sets.get(position(sets, namespace, |set| &set.namespace).ok()?)
}

/// The name of a policy, and its `spec` as JSON.
type NamedSpec = (Box<str>, Box<str>);

/// A namespace's policies, and the room that they need.
#[derive(Debug)]
struct Candidate<'a> {
    namespace: &'a str,
    /// Those that there are now, or why they cannot be in force.
    now: Result<(usize, Vec<NamedSpec>), String>,
    /// Those that were in force before.
    before: Option<(usize, &'a [NamedSpec])>,
}

impl<'a> Candidate<'a> {
    fn of(
        found: &NamespaceObjects<'a>,
        before: Option<&'a PolicySet>,
        size: &mut impl FnMut(&str, &[NamedSpec]) -> Result<usize, String>,
    ) -> Self {
        let namespace = found.namespace;
        let spec = |policy: &&PolicySpec| (policy.name.name.as_str().into(), policy.spec.clone());
        let specs: Vec<_> = found.specs.iter().map(spec).collect();
        let now = match found.bad {
            Some(line) => Err(line.to_owned()),
            None => size(namespace, &specs).map(|bytes| (bytes, specs)),
        };
        // An older leader may have left what is too much now.
        let before = before.and_then(|before| before.in_force.as_deref());
        let before = before.and_then(|specs| Some((size(namespace, specs).ok()?, specs)));
        Self { namespace, now, before }
    }

    /// The bytes of those that are to be in force.
    fn bytes(&self) -> usize {
        let now = self.now.as_ref().map(|(bytes, _)| *bytes).ok();
        now.or(self.before.map(|(bytes, _)| bytes)).unwrap_or_default()
    }

    /// Takes room for those that there are now, or else for those before.
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

/// Leaves out what there is no room for.
fn apply_quota(root: Option<&str>, sets: &mut [Candidate<'_>]) {
    let mut order: Vec<_> = sets.iter().map(|set| (set.namespace, set.bytes())).collect();
    cost::quota_order(root, &mut order);
    let mut quota = MemoryQuota::default();
    for (namespace, _) in order {
        let set = position(sets, namespace, |set| set.namespace)
            .ok()
            .and_then(|place| sets.get_mut(place));
        set.into_iter().for_each(|set| set.take(&mut quota));
    }
}

impl PolicySet {
    fn warning(&self) -> Option<String> {
        let namespace = &self.namespace;
        let instead = match self.in_force {
            Some(_) => "those before them stay in force",
            None => "there were none before them, so no external metric is served by them",
        };
        let reason = self.refused.as_ref()?;
        Some(format!(
            "the ExternalMetricPolicies of namespace {namespace} are refused: {reason}; {instead}"
        ))
    }
}

/// The policies of a namespace, ready to decide.
#[derive(Debug)]
struct CompiledSet {
    policies: Vec<Policy>,
    /// What they occupy, their specs among it.
    bytes: usize,
}

/// The policies of a namespace, or why they are none; `applies` is where they do.
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
    let bytes = cost.map_err(|(place, excess)| {
        let title = policies.get(place).map_or("", Policy::name);
        format!("up to {title} they have {excess}")
    })?;
    let of_specs: usize = specs.iter().map(|(_, spec)| spec.len()).sum();
    let bytes = bytes + of_specs;
    Ok(CompiledSet { policies, bytes })
}

#[cfg(test)]
mod tests;
