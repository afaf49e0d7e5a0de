//! A policy as written, in a configuration or as an object. Only the spelling of the keys and the types of the values are
//! checked here.

use burst_kube::{only_from_objects, only_from_strings};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

/// `spec` of an `ExternalMetricPolicy`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct RawPolicySpec {
    /// The users and groups to which the policy applies; `None` for everyone.
    pub subjects: Option<Vec<Subject>>,
    /// The rules in the order in which they are tried.
    pub rules: Vec<RawRule>,
}

/// A policy in a configuration. It has a name and, unless it applies to all namespaces, a namespace besides its spec.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct RawInlinePolicy {
    /// The name that messages use.
    pub name: String,
    /// The namespace to which the policy applies; `None` for all.
    pub namespace: Option<String>,
    /// See [`RawPolicySpec`].
    pub subjects: Option<Vec<Subject>>,
    /// See [`RawPolicySpec`].
    pub rules: Vec<RawRule>,
}

impl RawInlinePolicy {
    /// Splits the policy into its name, its namespace and its spec.
    #[must_use]
    pub fn into_spec(self) -> (String, Option<String>, RawPolicySpec) {
        let Self {
            name,
            namespace,
            subjects,
            rules,
        } = self;
        (name, namespace, RawPolicySpec { subjects, rules })
    }
}

/// A user or a group, written as a subject of a RoleBinding is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct Subject {
    /// The kind of the subject.
    pub kind: SubjectKind,
    /// The name as kube-apiserver passes it on.
    pub name: String,
}

/// The kind of a subject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(remote = "Self")]
pub enum SubjectKind {
    /// One user. A ServiceAccount is the user `system:serviceaccount:NAMESPACE:NAME`.
    #[default]
    User,
    /// All users of a group.
    Group,
}

/// A rule: a pattern, and exactly one of `selector` and `deny`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct RawRule {
    /// A regular expression that must match the whole canonical name of a metric.
    pub metric: String,
    /// The series of the metric that may be read.
    pub selector: Option<LabelSelector>,
    /// `true` if no series may be read.
    pub deny: Option<bool>,
}

/// <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/label-selector/>
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(remote = "Self", default, deny_unknown_fields, rename_all = "camelCase")]
pub struct LabelSelector {
    /// Labels that must have these values.
    pub match_labels: Option<BTreeMap<String, String>>,
    /// Further requirements.
    pub match_expressions: Option<Vec<LabelSelectorRequirement>>,
}

/// A requirement of a [`LabelSelector`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct LabelSelectorRequirement {
    /// The key of the label.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// The values for `In` and `NotIn`.
    pub values: Option<Vec<String>>,
}

only_from_objects!(
    RawPolicySpec,
    RawInlinePolicy,
    Subject,
    RawRule,
    LabelSelector,
    LabelSelectorRequirement,
);

only_from_strings!(SubjectKind);

/// Writes the requirement as the `labelSelector` parameter of a request does.
impl fmt::Display for LabelSelectorRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, operator, values } = self;
        let values = values.as_deref().unwrap_or_default().join(",");
        match operator.as_str() {
            "In" => write!(f, "{key} in ({values})"),
            "NotIn" => write!(f, "{key} notin ({values})"),
            "Exists" => f.write_str(key),
            "DoesNotExist" => write!(f, "!{key}"),
            other => write!(f, "{key} {other} ({values})"),
        }
    }
}
