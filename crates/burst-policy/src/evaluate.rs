//! All policies together.

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

/// Somebody asks for a metric.
#[derive(Clone, Copy, Debug)]
pub struct AccessRequest<'a> {
    /// The namespace in the path: the border between tenants, whatever labels say.
    pub namespace: &'a str,
    /// The [canonical name](crate::name::canonical).
    pub metric: &'a str,
    /// Who asks.
    pub user: &'a str,
    /// Their groups.
    pub groups: &'a [String],
    /// What they ask for.
    pub labels: &'a LabelConstraints,
}

/// What policies say of a query.
#[derive(Debug)]
pub struct Evaluation<'a> {
    /// Each that applies, in the order given.
    pub decisions: Vec<(&'a Policy, PolicyDecision)>,
    default: DefaultDecision,
}

/// Asks every policy that applies.
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

/// Why a query is refused.
#[derive(Clone, Copy, Debug)]
pub enum Denial<'a> {
    /// That policy says so.
    Policy(&'a Policy, PolicyDecision),
    /// There is none that applies, and without one nothing passes.
    NoPolicy,
}

impl<'a> Evaluation<'a> {
    /// The first reason to refuse the query; `None` if it passes.
    #[must_use]
    pub fn denial(&self) -> Option<Denial<'a>> {
        let passes = |decision: PolicyDecision| match decision {
            PolicyDecision::Allowed(_) => true,
            PolicyDecision::NoMatchingRule => self.default == DefaultDecision::Allow,
            PolicyDecision::Denied(_) | PolicyDecision::TooBroad(_) => false,
        };
        if self.decisions.is_empty() {
            return (self.default == DefaultDecision::Deny).then_some(Denial::NoPolicy);
        }
        let refused = self.decisions.iter().find(|(_, decision)| !passes(*decision));
        refused.map(|(policy, decision)| Denial::Policy(policy, *decision))
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
                    PolicyDecision::Allowed(place) | PolicyDecision::Denied(place) => {
                        write!(f, " rule {} denies it", place + 1)
                    }
                    PolicyDecision::TooBroad(place) => {
                        let rule = policy.rules().get(*place).map(|rule| &rule.effect);
                        let Some(RuleEffect::AllowWithin { text, .. }) = rule else {
                            return Ok(());
                        };
                        let place = place + 1;
                        write!(
                            f,
                            " rule {place} asks for a selector that is at least as narrow as \"{text}\""
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

    fn said(
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
    fn every_policy_that_applies_must_let_a_query_pass() {
        let too_wide =
            "ExternalMetricPolicy \"shop/web\" rule 1 asks for a selector that is at least as narrow as \"team=web\"";
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
            let said = said(DefaultDecision::Allow, namespace, metric, selector, user, groups);
            assert_eq!(said, expected, "{namespace} {metric} {selector} {user} {groups:?}");
        }
    }

    #[test]
    fn what_no_rule_is_for_ends_as_the_default_says() {
        let said = |namespace, metric| said(DefaultDecision::Deny, namespace, metric, "team=web", "hpa", &[]);
        assert_eq!(said("shop", "queue_depth"), "passes");
        assert_eq!(
            said("shop", "other"),
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
