//! Authentication by bearer tokens and authorization by RBAC rules.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use http::HeaderMap;
use http::header::AUTHORIZATION;
use serde::{Deserialize, Serialize};

use super::path::ResourcePath;
use super::status::{Details, Status};

const ANONYMOUS: &str = "system:anonymous";

/// The tokens and rules; clones share them. While none are set, every request is allowed. Once a token is set, an unknown
/// token is refused with 401, and a request without a token is `system:anonymous`, which is refused with 403, as on a
/// real server with RBAC.
#[derive(Clone, Default)]
pub struct Access(Arc<Mutex<AccessConfig>>);

/// All tokens and rules, as `PUT /lab/access` sends them.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccessConfig {
    /// Token → user, such as `system:serviceaccount:istio-system:burst`.
    pub tokens: BTreeMap<String, String>,
    /// The rules of each user. A user without an entry may do everything, one with an empty entry nothing.
    pub rules: BTreeMap<String, Vec<Rule>>,
}

/// A rule of a ClusterRole, or of a Role if it has a namespace; `*` matches everything.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// `""` is the core group.
    pub api_groups: Vec<String>,
    /// Plurals, without a subresource.
    pub resources: Vec<String>,
    /// `get`, `list`, `watch`, …
    pub verbs: Vec<String>,
    /// Only in this namespace; `None` is all namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

impl Access {
    /// Adds a token of a user.
    pub fn add_token(&self, token: &str, user: &str) {
        crate::locked(&self.0).tokens.insert(token.to_owned(), user.to_owned());
    }

    /// Removes a token.
    pub fn revoke(&self, token: &str) {
        crate::locked(&self.0).tokens.remove(token);
    }

    /// Sets the rules of a user; everything else is refused.
    pub fn set_rules(&self, user: &str, rules: Vec<Rule>) {
        crate::locked(&self.0).rules.insert(user.to_owned(), rules);
    }

    /// Replaces all tokens and rules.
    pub fn replace(&self, config: AccessConfig) {
        *crate::locked(&self.0) = config;
    }

    /// Returns the tokens and rules in force.
    pub fn config(&self) -> AccessConfig {
        crate::locked(&self.0).clone()
    }

    pub(super) fn user(&self, headers: &HeaderMap) -> Result<String, Status> {
        let config = crate::locked(&self.0);
        let token = headers
            .get(AUTHORIZATION)
            .and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
        match token {
            Some(token) if !config.tokens.is_empty() => {
                let known = std::str::from_utf8(token)
                    .ok()
                    .and_then(|token| config.tokens.get(token.trim()));
                known.cloned().ok_or_else(Status::unauthorized)
            }
            _ => Ok(ANONYMOUS.to_owned()),
        }
    }

    pub(super) fn check(&self, user: &str, verb: &str, path: &ResourcePath<'_>) -> Result<(), Status> {
        let config = crate::locked(&self.0);
        let allowed = match config.rules.get(user) {
            Some(rules) => rules.iter().any(|rule| rule.allows(verb, path)),
            None => user != ANONYMOUS || config.tokens.is_empty(),
        };
        if allowed {
            Ok(())
        } else {
            Err(forbidden(user, verb, path))
        }
    }
}

impl Access {
    /// Returns whether one of these users or groups is allowed. Subjects without rules are ignored, unless none has rules.
    pub(super) fn allows_any(&self, subjects: &[String], verb: &str, path: &ResourcePath<'_>) -> bool {
        let config = crate::locked(&self.0);
        let mut known = subjects
            .iter()
            .filter_map(|subject| config.rules.get(subject))
            .peekable();
        known.peek().is_none() || known.flatten().any(|rule| rule.allows(verb, path))
    }
}

impl Rule {
    fn allows(&self, verb: &str, path: &ResourcePath<'_>) -> bool {
        let has = |words: &[String], word: &str| words.iter().any(|w| w == word || w == "*");
        let here = self.namespace.is_none() || self.namespace.as_deref() == path.namespace;
        here && has(&self.verbs, verb) && has(&self.api_groups, path.group) && has(&self.resources, path.plural)
    }
}

/// The 403 of RBAC.
pub(super) fn forbidden(user: &str, verb: &str, path: &ResourcePath<'_>) -> Status {
    let named = path.name.map_or_else(String::new, |name| format!(" {name:?}"));
    let scope = path.namespace.map_or_else(
        || "at the cluster scope".to_owned(),
        |ns| format!("in the namespace {ns:?}"),
    );
    let message = format!(
        "{}{named} is forbidden: User {user:?} cannot {verb} resource {:?} in API group {:?} {scope}",
        path.resource(),
        path.plural,
        path.group
    );
    Status::forbidden(message, details(path))
}

/// The object or resource in `Status.details`.
pub(super) fn details(path: &ResourcePath<'_>) -> Details {
    Details {
        name: path.name.unwrap_or_default().to_owned(),
        group: path.group.to_owned(),
        kind: path.plural.to_owned(),
        ..Details::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hpas(namespace: Option<&'static str>) -> ResourcePath<'static> {
        let (group, version, plural) = ("autoscaling", "v2", "horizontalpodautoscalers");
        ResourcePath {
            group,
            version,
            plural,
            namespace,
            name: None,
            subresource: None,
        }
    }

    fn list_hpas(namespace: Option<&str>) -> Rule {
        Rule {
            api_groups: vec!["autoscaling".to_owned()],
            resources: vec!["horizontalpodautoscalers".to_owned()],
            verbs: vec!["list".to_owned()],
            namespace: namespace.map(str::to_owned),
        }
    }

    #[test]
    fn a_rule_allows_its_verb_in_its_namespace_only() {
        let access = Access::default();
        access.set_rules("gw", vec![list_hpas(Some("shop"))]);
        assert!(access.check("gw", "list", &hpas(Some("shop"))).is_ok());
        assert!(access.check("gw", "watch", &hpas(Some("shop"))).is_err());
        assert!(access.check("gw", "list", &hpas(Some("default"))).is_err());
        assert!(access.check("gw", "list", &hpas(None)).is_err());
        access.set_rules("gw", vec![list_hpas(None)]);
        assert!(access.check("gw", "list", &hpas(None)).is_ok());
    }

    #[test]
    fn a_refusal_reads_as_rbac_writes_it() {
        let real = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"horizontalpodautoscalers.autoscaling is forbidden: User \"system:serviceaccount:istio-system:gw\" cannot list resource \"horizontalpodautoscalers\" in API group \"autoscaling\" in the namespace \"default\"","reason":"Forbidden","details":{"group":"autoscaling","kind":"horizontalpodautoscalers"},"code":403}"#;
        let status = forbidden("system:serviceaccount:istio-system:gw", "list", &hpas(Some("default")));
        assert_eq!(serde_json::to_string(&status).unwrap(), real);
    }
}
