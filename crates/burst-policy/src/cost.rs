//! What policies cost, known before anything is compiled: the filter decides on the thread that serves requests, and
//! compiles in every thread.
//!
//! Policies are in force as sets: those of a namespace, and those of the configuration. A query meets three at most: of
//! the configuration, of the root namespace, and of its own. None of them may need more than [`MAX_STEPS`] to decide
//! on any query, or more than [`MAX_BYTES`] when all of it is compiled; what could is refused when it is read.
//!
//! A step is a state of a pattern that is visited for a character of the name, or something that takes as long: up to 4 ns
//! as native code, and 16 ns in Envoy (`cargo bench --package burst-policy`). A name meets the patterns with a prefix that it begins with. So of
//! patterns for different metrics only those of one metric count together.

use crate::pattern::Pattern;
use crate::policy::{Policy, Rule, RuleEffect};
use crate::raw::Subject;
use crate::rule_cache;

/// Rules of one policy, and of all policies of a set.
pub const MAX_RULES: usize = 1000;
/// Steps to decide on a query.
pub const MAX_STEPS: usize = 200_000;
/// Bytes of memory.
pub const MAX_BYTES: usize = 4 << 20;
/// Bytes of memory of the sets of all namespaces.
pub const MAX_TOTAL_BYTES: usize = 16 << 20;

/// To look at a policy: for whom it is, and whether the name was met before.
const POLICY_STEPS: usize = 40;
/// To look a user's groups up for a subject.
const SUBJECT_STEPS: usize = 20;
/// To look one value of a selector up among those of a query, or a key.
const VALUE_STEPS: usize = 32;
/// To compare a prefix.
const PREFIX_STEPS: usize = 2;
/// Bytes of a prefix that one step compares.
const PREFIX_BYTES_A_STEP: usize = 16;
/// Bytes of a text beside its own, and of what holds it.
const TEXT_BYTES: usize = 32;
/// Bytes of a rule beside its texts.
const RULE_BYTES: usize = 128;
/// Bytes of a policy beside its rules.
const POLICY_BYTES: usize = 256;

/// More of something than a policy, or a set of them, may have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{count} {what}; {most} are allowed")]
pub struct LimitExceeded {
    count: usize,
    what: &'static str,
    most: usize,
}

impl LimitExceeded {
    fn of(count: usize, what: &'static str, most: usize) -> Result<(), Self> {
        match count <= most {
            true => Ok(()),
            false => Err(Self { count, what, most }),
        }
    }
}

/// Looks whether policies can be in force together, and tells the bytes that they occupy then.
///
/// # Errors
/// The place of the first one with which they cannot be, and why.
pub fn check_set(policies: &[&Policy]) -> Result<usize, (usize, LimitExceeded)> {
    let fits = |count: usize| of_policies(policies.get(..count).unwrap_or_default());
    first_over(policies.len(), fits)
}

/// The sets of namespaces, in the order in which they get room: that of the root namespace, which all queries need, and
/// then from the smallest, so that no set costs another namespace a smaller one.
pub fn quota_order(root: Option<&str>, sets: &mut [(&str, usize)]) {
    sets.sort_unstable_by_key(|(namespace, bytes)| (Some(*namespace) != root, *bytes, *namespace));
}

/// MemoryQuota for the sets of all namespaces.
#[derive(Debug)]
pub struct MemoryQuota {
    left: usize,
}

impl Default for MemoryQuota {
    fn default() -> Self {
        let left = MAX_TOTAL_BYTES;
        Self { left }
    }
}

impl MemoryQuota {
    /// Takes room for a set, if there is any.
    #[must_use]
    pub fn take(&mut self, bytes: usize) -> bool {
        let left = self.left.checked_sub(bytes);
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }
}

/// Why a set is left out that has no room.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error(
    "those of all namespaces have more than {MAX_TOTAL_BYTES} bytes when they are compiled, and the largest are left out"
)]
pub struct QuotaExceeded;

/// The place of the first rule with which a policy costs too much, and why.
pub(crate) fn check_rules(subjects: &[Subject], rules: &[Rule]) -> Result<usize, (usize, LimitExceeded)> {
    let fits = |count: usize| {
        let mut cost = Cost::default();
        cost.add(subjects, rules.get(..count).unwrap_or_default());
        cost.check()
    };
    first_over(rules.len(), fits)
}

fn of_policies(policies: &[&Policy]) -> Result<usize, LimitExceeded> {
    let mut cost = Cost::default();
    for policy in policies {
        cost.add(&policy.subjects, &policy.rules);
        cost.bytes += policy.name.len();
    }
    cost.check()
}

/// What all cost together, where `fits` says for so many of them; more never cost less.
fn first_over(
    count: usize,
    fits: impl Fn(usize) -> Result<usize, LimitExceeded>,
) -> Result<usize, (usize, LimitExceeded)> {
    let Err(excess) = fits(count) else {
        return fits(count).map_err(|excess| (count, excess));
    };
    let (mut least, mut most, mut excess) = (0, count, excess);
    while least + 1 < most {
        let middle = least.midpoint(most);
        match fits(middle) {
            Ok(_) => least = middle,
            Err(earlier) => (most, excess) = (middle, earlier),
        }
    }
    Err((least, excess))
}

/// What some rules cost.
#[derive(Default)]
struct Cost<'a> {
    rules: usize,
    /// Whatever the name is.
    steps: usize,
    /// What a name with a prefix costs besides.
    patterns: Vec<(&'a str, usize)>,
    bytes: usize,
}

impl<'a> Cost<'a> {
    /// Those of one policy.
    fn add(&mut self, subjects: &[Subject], rules: &'a [Rule]) {
        let patterns = || rules.iter().map(|rule| &rule.pattern);
        let prefixes: usize = patterns().map(prefix_steps).sum();
        // One rule at most decides.
        let values = rules.iter().map(|rule| rule.effect.values()).max().unwrap_or_default();
        self.rules += rules.len();
        self.steps += POLICY_STEPS + subjects.len() * SUBJECT_STEPS + prefixes + values * VALUE_STEPS;
        self.patterns.extend(patterns().flat_map(costly));
        let of_subjects: usize = subjects.iter().map(|subject| subject.name.len() + TEXT_BYTES).sum();
        let check_rules: usize = rules
            .iter()
            .map(|rule| rule.pattern.bytes() + rule.effect.bytes() + RULE_BYTES)
            .sum();
        self.bytes += POLICY_BYTES + rule_cache::MAX_BYTES + of_subjects + check_rules;
    }

    /// The bytes, where nothing is too much.
    fn check(mut self) -> Result<usize, LimitExceeded> {
        LimitExceeded::of(self.rules, "rules", MAX_RULES)?;
        let steps = self.steps.saturating_add(most_expensive(&mut self.patterns));
        LimitExceeded::of(steps, "steps for the most expensive query", MAX_STEPS)?;
        LimitExceeded::of(self.bytes, "bytes when they are compiled", MAX_BYTES)?;
        Ok(self.bytes)
    }
}

/// To compare a name with its prefixes.
fn prefix_steps(pattern: &Pattern) -> usize {
    let (bytes, count) = pattern.prefixes();
    count * PREFIX_STEPS + bytes / PREFIX_BYTES_A_STEP
}

fn costly(pattern: &Pattern) -> impl Iterator<Item = (&str, usize)> {
    pattern.open_prefixes().map(|prefix| (prefix, pattern.steps()))
}

/// The most that one name costs of patterns with these prefixes: those which it begins with begin with each other.
fn most_expensive(patterns: &mut [(&str, usize)]) -> usize {
    patterns.sort_unstable();
    let (mut open, mut most_expensive) = (Vec::<(&str, usize)>::new(), 0_usize);
    for (prefix, steps) in patterns {
        while open.last().is_some_and(|(shorter, _)| !prefix.starts_with(shorter)) {
            open.pop();
        }
        let sum = open.last().map_or(0, |(_, sum)| *sum).saturating_add(*steps);
        open.push((prefix, sum));
        most_expensive = most_expensive.max(sum);
    }
    most_expensive
}

impl RuleEffect {
    /// Keys and values that it looks up in a query.
    fn values(&self) -> usize {
        match self {
            Self::Deny => 0,
            Self::AllowWithin { selected, .. } => selected.count(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            // The text has all that the labels have.
            Self::Deny => 0,
            Self::AllowWithin { selected, text } => 2 * text.len() + selected.count() * TEXT_BYTES,
        }
    }
}

#[cfg(test)]
mod tests;
