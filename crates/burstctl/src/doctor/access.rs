//! Whether a ServiceAccount may list, and where it is configured watch, what the filter reads.

use burst_model::kube::{Source, Verb};
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

    /// The question whether it may do that, as the API server puts it to itself when the account asks.
    /// <https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access>
    pub(super) fn may(&self, verb: Verb, source: &Source) -> SubjectAccessReview {
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
                    verb: Some(verb.to_string()),
                    namespace: source.namespace.as_ref().map(ToString::to_string),
                    ..ResourceAttributes::default()
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        }
    }
}

/// What it may do, and what not.
pub(super) fn check(account: &Account, answers: &[(Verb, Source, bool)]) -> Check {
    let words = |wanted: bool| -> String {
        let of_verb = |verb: Verb| {
            let of = answers
                .iter()
                .filter(|(asked, _, may)| (*asked, *may) == (verb, wanted));
            let sources: Vec<_> = of.map(|(_, source, _)| source.to_string()).collect();
            (!sources.is_empty()).then(|| format!("{verb} {}", sources.join(", ")))
        };
        let verbs: Vec<_> = [Verb::List, Verb::Watch].into_iter().filter_map(of_verb).collect();
        verbs.join("; ")
    };
    let may_not = words(false);
    if may_not.is_empty() {
        return Check::well("rbac", account.title(), format!("may {}", words(true)));
    }
    Check::trouble(
        "rbac",
        account.title(),
        format!("may not {may_not}"),
        "add what is lacking to the role of istio/base/rbac.yaml, or this ServiceAccount to its binding",
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

#[cfg(test)]
mod tests {
    use super::*;
    use burst_model::kube::{Reads, Resource};

    #[test]
    fn what_is_lacking_is_told_by_verb() {
        let account = Account {
            namespace: "shop".to_owned(),
            name: "gateway".to_owned(),
        };
        let source = |resource: Resource| Source::everywhere(Reads::Workloads, resource);
        let answers = |may: [bool; 4]| {
            let asked = [
                (Verb::List, Resource::services()),
                (Verb::Watch, Resource::services()),
                (Verb::List, Resource::deployments()),
                (Verb::Watch, Resource::deployments()),
            ];
            let answers = asked.into_iter().zip(may);
            answers
                .map(|((verb, resource), may)| (verb, source(resource), may))
                .collect::<Vec<_>>()
        };
        let found = |may| check(&account, &answers(may)).found;
        assert_eq!(
            found([true; 4]),
            "may list services, deployments.apps; watch services, deployments.apps"
        );
        assert_eq!(
            found([true, false, false, false]),
            "may not list deployments.apps; watch services, deployments.apps"
        );
    }
}
