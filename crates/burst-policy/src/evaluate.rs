//! Evaluates all policies that apply to a request.

use crate::labels::LabelConstraints;
use crate::policy::{Policy, PolicyDecision, RuleEffect, UserInfo};
use burst_kube::only_from_strings;
use serde::Deserialize;
use std::fmt;

/// The decision on a request to which no policy applies, and on a metric that no rule of a policy matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
pub enum DefaultDecision {
    /// The request is allowed.
    #[default]
    Allow,
    /// The request is denied.
    Deny,
}

only_from_strings!(DefaultDecision);

/// A request of a user to read a metric.
#[derive(Clone, Copy, Debug)]
pub struct AccessRequest<'a> {
    /// The namespace in the path. It separates tenants; labels do not.
    pub namespace: &'a str,
    /// The [canonical name](crate::name::canonical).
    pub metric: &'a str,
    /// The name of the user.
    pub user: &'a str,
    /// The groups of the user.
    pub groups: &'a [String],
    /// The series that the request selects.
    pub labels: &'a LabelConstraints,
}

/// The decisions of all policies on a request.
#[derive(Debug)]
pub struct Evaluation<'a> {
    /// The policies that apply, in the given order, with their decisions.
    pub decisions: Vec<(&'a Policy, PolicyDecision)>,
    default: DefaultDecision,
}

/// Evaluates every policy that applies to a request.
#[must_use]
pub fn evaluate<'a>(
    policies: impl IntoIterator<Item = &'a Policy>,
    default: DefaultDecision,
    query: AccessRequest<'_>,
) -> Evaluation<'a> {
    let user = UserInfo::new(query.user, query.groups);
    let applies = |policy: &&Policy| policy.applies(query.namespace, &user);
    let decide = |policy: &'a Policy| (policy, policy.decide(query.metric, query.labels));
    let decisions = policies.into_iter().filter(applies).map(decide).collect();
    Evaluation { decisions, default }
}

/// Why a request is denied.
#[derive(Clone, Copy, Debug)]
pub enum Denial<'a> {
    /// This policy denies it.
    Policy(&'a Policy, PolicyDecision),
    /// No policy applies, and the default is to deny.
    NoPolicy,
}

impl<'a> Evaluation<'a> {
    /// Returns the first reason to deny the request; `None` if it is allowed.
    #[must_use]
    pub fn denial(&self) -> Option<Denial<'a>> {
        let is_allowed = |decision: PolicyDecision| match decision {
            PolicyDecision::Allowed(_) => true,
            PolicyDecision::NoMatchingRule => self.default == DefaultDecision::Allow,
            PolicyDecision::Denied(_) | PolicyDecision::TooBroad(_) => false,
        };
        if self.decisions.is_empty() {
            return (self.default == DefaultDecision::Deny).then_some(Denial::NoPolicy);
        }
        let denied = self.decisions.iter().find(|(_, decision)| !is_allowed(*decision));
        denied.map(|(policy, decision)| Denial::Policy(policy, *decision))
    }
}

/// Names the policy and the rule.
impl fmt::Display for Denial<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPolicy => f.write_str("no ExternalMetricPolicy applies, and the default is deny"),
            Self::Policy(policy, decision) => {
                write!(f, "{policy}")?;
                match decision {
                    PolicyDecision::Allowed(index) | PolicyDecision::Denied(index) => {
                        write!(f, " rule {} denies it", index + 1)
                    }
                    PolicyDecision::TooBroad(index) => {
                        let rule = policy.rules().get(*index).map(|rule| &rule.effect);
                        let Some(RuleEffect::AllowWithin { text, .. }) = rule else {
                            return Ok(());
                        };
                        let index = index + 1;
                        write!(
                            f,
                            " rule {index} requires a selector that is at least as narrow as \"{text}\""
                        )
                    }
                    PolicyDecision::NoMatchingRule => f.write_str(" has no rule for it, and the default is deny"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policies() -> [Policy; 3] {
        let policy = |name: &str, namespace: Option<&str>, spec: &str| Policy::parse(name, namespace, spec).unwrap();
        [
            policy(
                "cluster",
                None,
                r#"{"rules":[{"metric":"secret_.*","deny":true},{"metric":".*","selector":{}}]}"#,
            ),
            policy(
                "shop/web",
                Some("shop"),
                r#"{"rules":[{"metric":"queue_.*","selector":{"matchLabels":{"team":"web"}}}]}"#,
            ),
            policy(
                "robots",
                None,
                r#"{"subjects":[{"kind":"User","name":"robot"},{"kind":"Group","name":"robots"}],
                    "rules":[{"metric":".*","deny":true}]}"#,
            ),
        ]
    }

    /// Returns the reason for the denial, or `passes`.
    fn outcome(
        default: DefaultDecision,
        namespace: &str,
        metric: &str,
        selector: &str,
        user: &str,
        groups: &[&str],
    ) -> String {
        let groups: Vec<_> = groups.iter().map(ToString::to_string).collect();
        let (policies, labels) = (policies(), LabelConstraints::from_query(&selector.parse().unwrap()));
        let query = AccessRequest {
            namespace,
            metric,
            user,
            groups: &groups,
            labels: &labels,
        };
        let evaluation = evaluate(&policies, default, query);
        evaluation
            .denial()
            .map_or_else(|| "passes".into(), |refusal| refusal.to_string())
    }

    #[test]
    fn every_policy_that_applies_must_allow_a_request() {
        let too_wide =
            "ExternalMetricPolicy \"shop/web\" rule 1 requires a selector that is at least as narrow as \"team=web\"";
        let denied = "ExternalMetricPolicy \"cluster\" rule 1 denies it";
        let robots = "ExternalMetricPolicy \"robots\" rule 1 denies it";
        for (namespace, metric, selector, user, groups, expected) in [
            ("shop", "queue_depth", "team=web,queue=x", "hpa", &["all"][..], "passes"),
            ("shop", "queue_depth", "queue=x", "hpa", &[], too_wide),
            ("data", "queue_depth", "queue=x", "hpa", &[], "passes"),
            ("shop", "secret_queue", "team=web", "hpa", &[], denied),
            ("shop", "other", "", "hpa", &[], "passes"),
            ("data", "other", "", "robot", &[], robots),
            ("data", "other", "", "hpa", &["all", "robots"], robots),
        ] {
            let outcome = outcome(DefaultDecision::Allow, namespace, metric, selector, user, groups);
            assert_eq!(outcome, expected, "{namespace} {metric} {selector} {user} {groups:?}");
        }
    }

    #[test]
    fn the_default_decides_if_no_rule_matches() {
        let outcome = |namespace, metric| outcome(DefaultDecision::Deny, namespace, metric, "team=web", "hpa", &[]);
        assert_eq!(outcome("shop", "queue_depth"), "passes");
        assert_eq!(
            outcome("shop", "other"),
            "ExternalMetricPolicy \"shop/web\" has no rule for it, and the default is deny"
        );
        let none: &[Policy] = &[];
        let query = AccessRequest {
            namespace: "shop",
            metric: "other",
            user: "hpa",
            groups: &[],
            labels: &LabelConstraints::default(),
        };
        let refusal = evaluate(none, DefaultDecision::Deny, query)
            .denial()
            .unwrap()
            .to_string();
        assert_eq!(refusal, "no ExternalMetricPolicy applies, and the default is deny");
        assert!(evaluate(none, DefaultDecision::Allow, query).denial().is_none());
    }
}
