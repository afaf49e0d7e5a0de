//! One policy, ready to decide.

use crate::labels::LabelConstraints;
use crate::pattern::Pattern;
use crate::raw::{Subject, SubjectKind};
use crate::rule_cache::RuleCache;
use std::collections::BTreeSet;
use std::fmt;

/// A policy that was [checked](Policy::new).
#[derive(Debug)]
pub struct Policy {
    pub(crate) name: Box<str>,
    pub(crate) namespace: Option<Box<str>>,
    pub(crate) subjects: Vec<Subject>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) rule_cache: RuleCache,
}

/// A rule of it.
#[derive(Debug)]
pub struct Rule {
    /// Which metrics it is for.
    pub pattern: Pattern,
    /// What becomes of a query for one.
    pub effect: RuleEffect,
}

/// What becomes of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleEffect {
    /// It is refused.
    Deny,
    /// It passes if it lies within what these select.
    AllowWithin {
        /// What they select.
        selected: LabelConstraints,
        /// As a query would have it.
        text: Box<str>,
    },
}

/// A user, and the groups it is in.
#[derive(Clone, Debug)]
pub struct UserInfo<'a> {
    name: &'a str,
    groups: BTreeSet<&'a str>,
}

impl<'a> UserInfo<'a> {
    /// Of a name and groups.
    #[must_use]
    pub fn new(name: &'a str, groups: &'a [String]) -> Self {
        let groups = groups.iter().map(String::as_str).collect();
        Self { name, groups }
    }
}

/// What a policy says of a query. Rules count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyDecision {
    /// That rule lets it pass.
    Allowed(usize),
    /// That rule denies the metric.
    Denied(usize),
    /// That rule lets narrower queries pass.
    TooBroad(usize),
    /// No rule is for the metric.
    NoMatchingRule,
}

impl Policy {
    /// Its name, as it was given: `NAMESPACE/NAME` of an object.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it applies; `None` for every namespace.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// From the first to the last.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Whether it is for queries of that user in that namespace.
    #[must_use]
    pub fn applies(&self, namespace: &str, user: &UserInfo<'_>) -> bool {
        let is_meant = |subject: &Subject| match subject.kind {
            SubjectKind::User => subject.name == user.name,
            SubjectKind::Group => user.groups.contains(&*subject.name),
        };
        let is_there = self.namespace().is_none_or(|own| own == namespace);
        is_there && (self.subjects.is_empty() || self.subjects.iter().any(is_meant))
    }

    /// What it says of a query for a metric of that canonical name.
    #[must_use]
    pub fn decide(&self, metric: &str, asked: &LabelConstraints) -> PolicyDecision {
        // A pattern that the engine refuses denies: no later rule may let the name pass.
        let first = || {
            self.rules
                .iter()
                .position(|rule| rule.pattern.matches(metric) != Some(false))
        };
        let Some(place) = self.rule_cache.rule(metric, first) else {
            return PolicyDecision::NoMatchingRule;
        };
        let rule = self.rules.get(place);
        match rule.map(|rule| &rule.effect) {
            _ if rule.is_some_and(|rule| rule.pattern.failed_to_compile()) => PolicyDecision::Denied(place),
            Some(RuleEffect::AllowWithin { selected, .. }) if asked.is_subset_of(selected) => {
                PolicyDecision::Allowed(place)
            }
            Some(RuleEffect::AllowWithin { .. }) => PolicyDecision::TooBroad(place),
            Some(RuleEffect::Deny) => PolicyDecision::Denied(place),
            None => PolicyDecision::NoMatchingRule,
        }
    }
}

/// As messages name it.
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExternalMetricPolicy \"{}\"", self.name)
    }
}
