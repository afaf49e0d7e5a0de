//! A policy as it is written, in a configuration or as an object: nothing is checked but the spelling of the keys and
//! the types of the values.

use serde::Deserialize;
use std::collections::BTreeMap;

/// `spec` of an `ExternalMetricPolicy`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Whose queries it is for; everybody's where it is left out.
    pub subjects: Option<Vec<Subject>>,
    /// From the first to the last.
    pub rules: Vec<Rule>,
}

/// Who asks, in the words of a RoleBinding.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// What the name is of.
    pub kind: SubjectKind,
    /// The name that kube-apiserver gives.
    pub name: String,
}

/// What a subject is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum SubjectKind {
    /// One user; a ServiceAccount is `system:serviceaccount:NAMESPACE:NAME`.
    User,
    /// Everybody in a group.
    Group,
}

/// A pattern, and then exactly one of a selector and `deny`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// A regular expression for the whole canonical name of a metric.
    pub metric: String,
    /// What may be asked for of such a metric.
    pub selector: Option<LabelSelector>,
    /// `true`: nothing may.
    pub deny: Option<bool>,
}

/// <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/label-selector/>
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LabelSelector {
    /// Labels that must have these values.
    pub match_labels: Option<BTreeMap<String, String>>,
    /// Further requirements.
    pub match_expressions: Option<Vec<Expression>>,
}

/// A requirement of a selector.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expression {
    /// The label's key.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// For the first two.
    pub values: Option<Vec<String>>,
}
