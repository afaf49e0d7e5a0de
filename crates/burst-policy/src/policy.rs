//! One policy, ready to decide.

use crate::decided::Decided;
use crate::labels::Labels;
use crate::pattern::Pattern;
use crate::words::{Subject, SubjectKind};
use std::collections::BTreeSet;
use std::fmt;

/// A policy that was [checked](Policy::new).
#[derive(Debug)]
pub struct Policy {
    pub(crate) name: Box<str>,
    pub(crate) namespace: Option<Box<str>>,
    pub(crate) subjects: Vec<Subject>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) decided: Decided,
}

/// A rule of it.
#[derive(Debug)]
pub struct Rule {
    /// Which metrics it is for.
    pub pattern: Pattern,
    /// What becomes of a query for one.
    pub ruling: Ruling,
}

/// What becomes of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It is refused.
    Deny,
    /// It passes if it lies within what these select.
    Within {
        /// What they select.
        labels: Labels,
        /// As a query would have it.
        text: Box<str>,
    },
}

/// A user, and the groups it is in.
#[derive(Clone, Debug)]
pub struct User<'a> {
    name: &'a str,
    groups: BTreeSet<&'a str>,
}

impl<'a> User<'a> {
    /// Of a name and groups.
    #[must_use]
    pub fn new(name: &'a str, groups: &'a [String]) -> Self {
        let groups = groups.iter().map(String::as_str).collect();
        Self { name, groups }
    }
}

/// What a policy says of a query. Rules count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// That rule lets it pass.
    Allowed(usize),
    /// That rule denies the metric.
    Denied(usize),
    /// That rule lets narrower queries pass.
    TooWide(usize),
    /// No rule is for the metric.
    NoRule,
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
    pub fn applies(&self, namespace: &str, user: &User<'_>) -> bool {
        let is_meant = |subject: &Subject| match subject.kind {
            SubjectKind::User => subject.name == user.name,
            SubjectKind::Group => user.groups.contains(&*subject.name),
        };
        let is_there = self.namespace().is_none_or(|own| own == namespace);
        is_there && (self.subjects.is_empty() || self.subjects.iter().any(is_meant))
    }

    /// What it says of a query for a metric of that canonical name.
    #[must_use]
    pub fn decide(&self, metric: &str, asked: &Labels) -> Decision {
        // A pattern that the engine refuses denies: no later rule may let the name pass.
        let first = || {
            self.rules
                .iter()
                .position(|rule| rule.pattern.matches(metric) != Some(false))
        };
        let Some(place) = self.decided.rule(metric, first) else {
            return Decision::NoRule;
        };
        let rule = self.rules.get(place);
        match rule.map(|rule| &rule.ruling) {
            _ if rule.is_some_and(|rule| rule.pattern.is_refused()) => Decision::Denied(place),
            Some(Ruling::Within { labels, .. }) if asked.is_within(labels) => Decision::Allowed(place),
            Some(Ruling::Within { .. }) => Decision::TooWide(place),
            Some(Ruling::Deny) => Decision::Denied(place),
            None => Decision::NoRule,
        }
    }
}

/// As messages name it.
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExternalMetricPolicy \"{}\"", self.name)
    }
}
