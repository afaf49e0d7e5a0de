//! Whether a ServiceAccount may list what the filter reads.

use burst_model::kube::Source;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};

use super::Check;

/// A ServiceAccount.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Account {
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Account {
    pub(super) fn title(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// The question whether it may list that, as the API server puts it to itself when the account asks.
    /// <https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access>
    pub(super) fn may_list(&self, source: &Source) -> SubjectAccessReview {
        let Self { namespace, name } = self;
        let groups = [
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{namespace}"),
            "system:authenticated".to_owned(),
        ];
        SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: Some(format!("system:serviceaccount:{namespace}:{name}")),
                groups: Some(groups.into()),
                resource_attributes: Some(ResourceAttributes {
                    group: Some(source.resource.group.clone()),
                    version: Some(source.resource.version.clone()),
                    resource: Some(source.resource.plural.clone()),
                    verb: Some("list".to_owned()),
                    namespace: source.namespace.as_ref().map(ToString::to_string),
                    ..ResourceAttributes::default()
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        }
    }
}

/// What it may list, and what not.
pub(super) fn check(account: &Account, answers: &[(Source, bool)]) -> Check {
    let words = |wanted: bool| -> Vec<String> {
        let of = answers.iter().filter(|(_, may)| *may == wanted);
        of.map(|(source, _)| source.to_string()).collect()
    };
    let (may, may_not) = (words(true), words(false));
    if may_not.is_empty() {
        return Check::well("rbac", account.title(), format!("may list {}", may.join(", ")));
    }
    Check::trouble(
        "rbac",
        account.title(),
        format!("may not list {}", may_not.join(", ")),
        "add the verb list on them to the role of istio/base/rbac.yaml, and this ServiceAccount to its binding",
    )
}

/// Nobody could be asked.
pub(super) fn unknown(account: &Account, reason: impl Into<String>) -> Check {
    Check::unknown(
        "rbac",
        account.title(),
        reason,
        "your user needs the verb create on subjectaccessreviews.authorization.k8s.io",
    )
}
