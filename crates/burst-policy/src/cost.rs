//! The cost of policies in time and memory, computed before any pattern is compiled. The filter evaluates policies on the
//! threads that serve requests, and every thread compiles its own patterns.
//!
//! Policies are accepted as sets: one for each namespace, and one for the configuration. At most three sets apply to a
//! request: that of the configuration, of the root namespace, and of its own namespace. A set is refused when it is read if
//! a request could take more than [`MAX_STEPS`], or if the set could take more than [`MAX_BYTES`] after compilation.
//!
//! A step is one visit of a pattern's state for a character of the name, or something that takes as long: up to 4 ns in native
//! code and 16 ns in Envoy (`cargo bench --package burst-policy`). The filter tries a pattern only on names that begin with one
//! of its prefixes, so the costs of patterns for different metrics do not add up.

use crate::pattern::Pattern;
use crate::policy::{Policy, Rule, RuleEffect};
use crate::raw::Subject;
use crate::rule_cache;

/// The largest number of rules in a policy, and in a set of policies.
pub const MAX_RULES: usize = 1000;
/// The largest number of steps to evaluate a set for a request.
pub const MAX_STEPS: usize = 200_000;
/// The largest size of a set after compilation, in bytes.
pub const MAX_BYTES: usize = 4 << 20;
/// The largest size of the sets of all namespaces together, in bytes.
pub const MAX_TOTAL_BYTES: usize = 16 << 20;

/// The cost of a policy: to check whether it applies, and whether the name is cached.
const POLICY_STEPS: usize = 40;
/// The cost of a subject: to look it up among the groups of the user.
const SUBJECT_STEPS: usize = 20;
/// The cost of a key or value of a selector: to look it up in the request.
const VALUE_STEPS: usize = 32;
/// The cost of comparing a prefix.
const PREFIX_STEPS: usize = 2;
/// The number of bytes of a prefix that one step compares.
const PREFIX_BYTES_A_STEP: usize = 16;
/// The overhead of a text in memory, in bytes.
const TEXT_BYTES: usize = 32;
/// The size of a rule without its texts, in bytes.
const RULE_BYTES: usize = 128;
/// The size of a policy without its rules, in bytes.
const POLICY_BYTES: usize = 256;

/// A policy or a set of policies exceeds a limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{count} {what}; {max} are allowed")]
pub struct LimitExceeded {
    count: usize,
    what: &'static str,
    max: usize,
}

impl LimitExceeded {
    fn check(count: usize, what: &'static str, max: usize) -> Result<(), Self> {
        match count <= max {
            true => Ok(()),
            false => Err(Self { count, what, max }),
        }
    }
}

/// Checks the limits of a set of policies, and returns its size in bytes.
///
/// # Errors
/// The index of the first policy that exceeds a limit together with those before it, and which limit.
pub fn check_set(policies: &[&Policy]) -> Result<usize, (usize, LimitExceeded)> {
    let fits = |count: usize| of_policies(policies.get(..count).unwrap_or_default());
    first_over(policies.len(), fits)
}

/// Sorts the sets of namespaces by priority for memory: the root namespace first, because its set applies to all requests,
/// then by size, so that a large set cannot take the memory of a smaller one.
pub fn quota_order(root: Option<&str>, sets: &mut [(&str, usize)]) {
    sets.sort_unstable_by_key(|(namespace, bytes)| (Some(*namespace) != root, *bytes, *namespace));
}

/// The memory that remains for the sets of all namespaces.
#[derive(Debug)]
pub struct MemoryQuota {
    remaining: usize,
}

impl Default for MemoryQuota {
    fn default() -> Self {
        let remaining = MAX_TOTAL_BYTES;
        Self { remaining }
    }
}

impl MemoryQuota {
    /// Reserves memory for a set. Returns `false` if there is not enough.
    #[must_use]
    pub fn take(&mut self, bytes: usize) -> bool {
        let remaining = self.remaining.checked_sub(bytes);
        self.remaining = remaining.unwrap_or(self.remaining);
        remaining.is_some()
    }
}

/// Not enough memory remains for a set.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error(
    "the policies of all namespaces take more than {MAX_TOTAL_BYTES} bytes when compiled, so the largest sets are not used"
)]
pub struct QuotaExceeded;

/// Checks the limits of a policy, and returns the index of the first rule that exceeds one together with those before it.
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

/// Finds the first item that exceeds a limit, by bisection. `fits` checks the first items, and more items never cost less.
fn first_over(
    count: usize,
    fits: impl Fn(usize) -> Result<usize, LimitExceeded>,
) -> Result<usize, (usize, LimitExceeded)> {
    let Err(excess) = fits(count) else {
        return fits(count).map_err(|excess| (count, excess));
    };
    let (mut least, mut max, mut excess) = (0, count, excess);
    while least + 1 < max {
        let middle = least.midpoint(max);
        match fits(middle) {
            Ok(_) => least = middle,
            Err(earlier) => (max, excess) = (middle, earlier),
        }
    }
    Err((least, excess))
}

/// The cost of some rules.
#[derive(Default)]
struct Cost<'a> {
    rules: usize,
    /// The cost for any name.
    steps: usize,
    /// The additional cost for names with a prefix.
    patterns: Vec<(&'a str, usize)>,
    bytes: usize,
}

impl<'a> Cost<'a> {
    /// Adds the rules of a policy.
    fn add(&mut self, subjects: &[Subject], rules: &'a [Rule]) {
        let patterns = || rules.iter().map(|rule| &rule.pattern);
        let prefixes: usize = patterns().map(prefix_steps).sum();
        // At most one rule compares selectors.
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

    /// Checks the limits, and returns the size in bytes.
    fn check(mut self) -> Result<usize, LimitExceeded> {
        LimitExceeded::check(self.rules, "rules", MAX_RULES)?;
        let steps = self.steps.saturating_add(most_expensive(&mut self.patterns));
        LimitExceeded::check(steps, "steps for the most expensive query", MAX_STEPS)?;
        LimitExceeded::check(self.bytes, "bytes when compiled", MAX_BYTES)?;
        Ok(self.bytes)
    }
}

/// Returns the cost of comparing a name with the prefixes of a pattern.
fn prefix_steps(pattern: &Pattern) -> usize {
    let (bytes, count) = pattern.prefixes();
    count * PREFIX_STEPS + bytes / PREFIX_BYTES_A_STEP
}

fn costly(pattern: &Pattern) -> impl Iterator<Item = (&str, usize)> {
    pattern.open_prefixes().map(|prefix| (prefix, pattern.steps()))
}

/// Returns the largest cost of a single name for patterns with these prefixes. All prefixes of one name are prefixes of each
/// other.
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
    /// The number of keys and values that are looked up in a request.
    fn values(&self) -> usize {
        match self {
            Self::Deny => 0,
            Self::AllowWithin { selected, .. } => selected.count(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            // The text contains all that is selected.
            Self::Deny => 0,
            Self::AllowWithin { selected, text } => 2 * text.len() + selected.count() * TEXT_BYTES,
        }
    }
}

#[cfg(test)]
mod tests;
