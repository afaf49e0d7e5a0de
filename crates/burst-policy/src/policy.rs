//! A checked policy.

use crate::labels::LabelConstraints;
use crate::pattern::Pattern;
use crate::raw::{Subject, SubjectKind};
use crate::rule_cache::RuleCache;
use std::collections::BTreeSet;
use std::fmt;

/// A policy that was [checked](Policy::new) and can be evaluated.
#[derive(Clone, Debug)]
pub struct Policy {
    pub(crate) name: Box<str>,
    pub(crate) namespace: Option<Box<str>>,
    pub(crate) subjects: Vec<Subject>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) rule_cache: RuleCache,
}

/// A rule of a policy.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The names of the metrics to which the rule applies.
    pub pattern: Pattern,
    /// The effect of the rule.
    pub effect: RuleEffect,
}

/// The effect of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleEffect {
    /// Denies every request.
    Deny,
    /// Allows requests that select a subset of these series.
    AllowWithin {
        /// The series that may be read.
        selected: LabelConstraints,
        /// The same as the text of a label selector.
        text: Box<str>,
    },
}

/// A user with its groups.
#[derive(Clone, Debug)]
pub struct UserInfo<'a> {
    name: &'a str,
    groups: BTreeSet<&'a str>,
}

impl<'a> UserInfo<'a> {
    /// Creates a user from its name and groups.
    #[must_use]
    pub fn new(name: &'a str, groups: &'a [String]) -> Self {
        let groups = groups.iter().map(String::as_str).collect();
        Self { name, groups }
    }
}

/// The decision of one policy on a request. Rules are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyDecision {
    /// This rule allows the request.
    Allowed(usize),
    /// This rule denies the metric.
    Denied(usize),
    /// This rule allows only requests that select fewer series.
    TooBroad(usize),
    /// No rule matches the metric.
    NoMatchingRule,
}

impl Policy {
    /// The name of the policy; `NAMESPACE/NAME` for an object.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The namespace to which the policy applies; `None` for all.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The rules in the order in which they are tried.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Returns whether the policy applies to requests of a user in a namespace.
    #[must_use]
    pub fn applies(&self, namespace: &str, user: &UserInfo<'_>) -> bool {
        let is_subject = |subject: &Subject| match subject.kind {
            SubjectKind::User => subject.name == user.name,
            SubjectKind::Group => user.groups.contains(&*subject.name),
        };
        let is_in_scope = self
            .namespace()
            .is_none_or(|policy_namespace| policy_namespace == namespace);
        is_in_scope && (self.subjects.is_empty() || self.subjects.iter().any(is_subject))
    }

    /// Decides on a request for a metric, given by its canonical name.
    #[must_use]
    pub fn decide(&self, metric: &str, requested: &LabelConstraints) -> PolicyDecision {
        // A pattern that the engine cannot compile denies: no later rule may allow the name.
        let first = || {
            self.rules
                .iter()
                .position(|rule| rule.pattern.matches(metric) != Some(false))
        };
        let Some(index) = self.rule_cache.rule(metric, first) else {
            return PolicyDecision::NoMatchingRule;
        };
        let rule = self.rules.get(index);
        match rule.map(|rule| &rule.effect) {
            _ if rule.is_some_and(|rule| rule.pattern.failed_to_compile()) => PolicyDecision::Denied(index),
            Some(RuleEffect::AllowWithin { selected, .. }) if requested.is_subset_of(selected) => {
                PolicyDecision::Allowed(index)
            }
            Some(RuleEffect::AllowWithin { .. }) => PolicyDecision::TooBroad(index),
            Some(RuleEffect::Deny) => PolicyDecision::Denied(index),
            None => PolicyDecision::NoMatchingRule,
        }
    }
}

/// The policy as messages name it.
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExternalMetricPolicy \"{}\"", self.name)
    }
}
