//! A policy as it is written, in a configuration or as an object: nothing is checked but the spelling of the keys and
//! the types of the values.

use burst_words::{choice, form};
use std::collections::BTreeMap;
use std::fmt;

/// `spec` of an `ExternalMetricPolicy`.
#[derive(Clone, Debug, Default)]
pub struct RawPolicySpec {
    /// Whose queries it is for; everybody's where it is left out.
    pub subjects: Option<Vec<Subject>>,
    /// From the first to the last.
    pub rules: Vec<RawRule>,
}

form!(RawPolicySpec {
    subjects,
    rules: required
});

/// A policy that is no object: its name and, unless it is for all of them, the namespace it is for stand beside the rest.
#[derive(Clone, Debug, Default)]
pub struct RawInlinePolicy {
    /// What messages call it.
    pub name: String,
    /// Where it applies.
    pub namespace: Option<String>,
    /// As in [`RawPolicySpec`].
    pub subjects: Option<Vec<Subject>>,
    /// As in [`RawPolicySpec`].
    pub rules: Vec<RawRule>,
}

form!(RawInlinePolicy {
    name: required,
    namespace,
    subjects,
    rules: required
});

impl RawInlinePolicy {
    /// The name, the namespace and the rest.
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

/// Who asks, in the words of a RoleBinding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// What the name is of.
    pub kind: SubjectKind,
    /// The name that kube-apiserver gives.
    pub name: String,
}

form!(Subject {
    kind: required,
    name: required
});

/// What a subject is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SubjectKind {
    /// One user; a ServiceAccount is `system:serviceaccount:NAMESPACE:NAME`.
    #[default]
    User,
    /// Everybody in a group.
    Group,
}

choice!(SubjectKind { "User" => User, "Group" => Group });

/// A pattern, and then exactly one of a selector and `deny`.
#[derive(Clone, Debug, Default)]
pub struct RawRule {
    /// A regular expression for the whole canonical name of a metric.
    pub metric: String,
    /// What may be asked for of such a metric.
    pub selector: Option<LabelSelector>,
    /// `true`: nothing may.
    pub deny: Option<bool>,
}

form!(RawRule {
    metric: required,
    selector,
    deny
});

/// <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/label-selector/>
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    /// LabelConstraints that must have these values.
    pub match_labels: Option<BTreeMap<String, String>>,
    /// Further requirements.
    pub match_expressions: Option<Vec<LabelSelectorRequirement>>,
}

form!(LabelSelector { match_labels = "matchLabels", match_expressions = "matchExpressions" });

/// A requirement of a selector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelectorRequirement {
    /// The label's key.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// For the first two.
    pub values: Option<Vec<String>>,
}

form!(LabelSelectorRequirement {
    key: required,
    operator: required,
    values
});

/// As a query has it.
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
