//! All policies together.

use crate::labels::Labels;
use crate::policy::{Decision, Policy, Ruling, User};
use burst_words::choice;
use std::fmt;

/// What becomes of a query that no policy is for, and of one for a metric that no rule of a policy is for.
#[derive(Clone, Copy, Debug, std::default::Default, PartialEq, Eq, Hash)]
pub enum Default {
    /// It passes.
    #[default]
    Allow,
    /// It is refused.
    Deny,
}

choice!(Default { "allow" => Allow, "deny" => Deny });

/// Somebody asks for a metric.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The namespace in the path: the border between tenants, whatever labels say.
    pub namespace: &'a str,
    /// The [canonical name](crate::name::canonical).
    pub metric: &'a str,
    /// Who asks.
    pub user: &'a str,
    /// Their groups.
    pub groups: &'a [String],
    /// What they ask for.
    pub labels: &'a Labels,
}

/// What policies say of a query.
#[derive(Debug)]
pub struct Judgement<'a> {
    /// Each that applies, in the order given.
    pub decisions: Vec<(&'a Policy, Decision)>,
    default: Default,
}

/// Asks every policy that applies.
#[must_use]
pub fn judge<'a>(policies: impl IntoIterator<Item = &'a Policy>, default: Default, query: Query<'_>) -> Judgement<'a> {
    let user = User::new(query.user, query.groups);
    let applies = |policy: &&Policy| policy.applies(query.namespace, &user);
    let decide = |policy: &'a Policy| (policy, policy.decide(query.metric, query.labels));
    let decisions = policies.into_iter().filter(applies).map(decide).collect();
    Judgement { decisions, default }
}

/// Why a query is refused.
#[derive(Clone, Copy, Debug)]
pub enum Refusal<'a> {
    /// That policy says so.
    Policy(&'a Policy, Decision),
    /// There is none that applies, and without one nothing passes.
    NoPolicy,
}

impl<'a> Judgement<'a> {
    /// The first reason to refuse the query; `None` if it passes.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal<'a>> {
        let passes = |decision: Decision| match decision {
            Decision::Allowed(_) => true,
            Decision::NoRule => self.default == Default::Allow,
            Decision::Denied(_) | Decision::TooWide(_) => false,
        };
        if self.decisions.is_empty() {
            return (self.default == Default::Deny).then_some(Refusal::NoPolicy);
        }
        let refused = self.decisions.iter().find(|(_, decision)| !passes(*decision));
        refused.map(|(policy, decision)| Refusal::Policy(policy, *decision))
    }
}

/// Names the policy and the rule.
impl fmt::Display for Refusal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPolicy => f.write_str("no ExternalMetricPolicy applies, and the default is deny"),
            Self::Policy(policy, decision) => {
                write!(f, "{policy}")?;
                match decision {
                    Decision::Allowed(place) | Decision::Denied(place) => write!(f, " rule {} denies it", place + 1),
                    Decision::TooWide(place) => {
                        let rule = policy.rules().get(*place).map(|rule| &rule.ruling);
                        let Some(Ruling::Within { text, .. }) = rule else {
                            return Ok(());
                        };
                        let place = place + 1;
                        write!(
                            f,
                            " rule {place} asks for a selector that is at least as narrow as \"{text}\""
                        )
                    }
                    Decision::NoRule => f.write_str(" has no rule for it, and the default is deny"),
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

    fn said(default: Default, namespace: &str, metric: &str, selector: &str, user: &str, groups: &[&str]) -> String {
        let groups: Vec<_> = groups.iter().map(ToString::to_string).collect();
        let (policies, labels) = (policies(), Labels::of_query(&selector.parse().unwrap()));
        let query = Query {
            namespace,
            metric,
            user,
            groups: &groups,
            labels: &labels,
        };
        let judgement = judge(&policies, default, query);
        judgement
            .refusal()
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
            let said = said(Default::Allow, namespace, metric, selector, user, groups);
            assert_eq!(said, expected, "{namespace} {metric} {selector} {user} {groups:?}");
        }
    }

    #[test]
    fn what_no_rule_is_for_ends_as_the_default_says() {
        let said = |namespace, metric| said(Default::Deny, namespace, metric, "team=web", "hpa", &[]);
        assert_eq!(said("shop", "queue_depth"), "passes");
        assert_eq!(
            said("shop", "other"),
            "ExternalMetricPolicy \"shop/web\" has no rule for it, and the default is deny"
        );
        let none: &[Policy] = &[];
        let query = Query {
            namespace: "shop",
            metric: "other",
            user: "hpa",
            groups: &[],
            labels: &Labels::default(),
        };
        let refusal = judge(none, Default::Deny, query).refusal().unwrap().to_string();
        assert_eq!(refusal, "no ExternalMetricPolicy applies, and the default is deny");
        assert!(judge(none, Default::Allow, query).refusal().is_none());
    }
}
