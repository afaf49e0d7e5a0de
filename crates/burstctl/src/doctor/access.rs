//! Checks that a ServiceAccount may list the resources that the filter reads, and watch them if so configured.

use std::collections::BTreeMap;

use burst_model::config::{Config, SyncMode};
use burst_model::kube::{Source, Verb};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};

use super::Check;

/// A ServiceAccount.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ServiceAccount {
    pub(super) namespace: String,
    pub(super) name: String,
}

impl ServiceAccount {
    pub(super) fn title(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// The review of one access, as the API server decides it for a request of the account.
    /// <https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access>
    pub(super) fn access_review(&self, verb: Verb, source: &Source) -> SubjectAccessReview {
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

/// The access that each account needs: that of the configurations of all its pods, or of the defaults if no pod has one. An
/// account whose pods are spokes needs no access.
pub(super) fn required_access<'a>(
    pods: impl Iterator<Item = (ServiceAccount, Option<&'a Config>)>,
    defaults: Option<&'a Config>,
) -> BTreeMap<ServiceAccount, Vec<(Verb, Source)>> {
    let mut configs = BTreeMap::<_, Vec<_>>::new();
    for (account, config) in pods {
        configs.entry(account).or_default().extend(config);
    }
    let required_access = configs.into_iter().map(|(account, mut configs)| {
        if configs.is_empty() {
            configs.extend(defaults);
        }
        let mut required = Vec::new();
        for question in configs.into_iter().flat_map(access_of_config) {
            if !required.contains(&question) {
                required.push(question);
            }
        }
        (account, required)
    });
    required_access.filter(|(_, required)| !required.is_empty()).collect()
}

fn access_of_config(config: &Config) -> impl Iterator<Item = (Verb, Source)> {
    let verbs = match config.sync.mode {
        SyncMode::List => &[Verb::List][..],
        SyncMode::Auto | SyncMode::Stream | SyncMode::Watch => &[Verb::List, Verb::Watch],
    };
    let sources = config.sources();
    sources.flat_map(move |source| verbs.iter().map(|verb| (*verb, source.clone())))
}

/// Reports which access is granted and which is missing.
pub(super) fn check(account: &ServiceAccount, answers: &[(Verb, Source, bool)]) -> Check {
    let missing = access_with_verdict(answers, false);
    if missing.is_empty() {
        let granted = access_with_verdict(answers, true);
        return Check::ok("rbac", account.title(), format!("may {granted}"));
    }
    Check::problem(
        "rbac",
        account.title(),
        format!("may not {missing}"),
        "add the missing verbs to the role in istio/base/rbac.yaml, or this ServiceAccount to its binding",
    )
}

/// Lists the access that is granted, or the access that is missing, by verb: `list services; watch services`.
fn access_with_verdict(answers: &[(Verb, Source, bool)], verdict: bool) -> String {
    let mut verbs = Vec::new();
    for verb in [Verb::List, Verb::Watch] {
        let sources: Vec<_> = answers
            .iter()
            .filter(|(required, _, allowed)| (*required, *allowed) == (verb, verdict))
            .map(|(_, source, _)| source.to_string())
            .collect();
        if !sources.is_empty() {
            verbs.push(format!("{verb} {}", sources.join(", ")));
        }
    }
    verbs.join("; ")
}

/// The check if the reviews cannot be made.
pub(super) fn unknown(account: &ServiceAccount, reason: impl Into<String>) -> Check {
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
    use burst_model::config::Artifact;
    use burst_model::kube::{ObjectKind, Resource};

    fn config(json: &str) -> Config {
        Config::parse(json.as_bytes(), Artifact::Full).unwrap()
    }

    #[test]
    fn an_account_needs_the_access_of_the_configurations_of_all_its_pods() {
        let account = |name: &str| ServiceAccount {
            namespace: "shop".to_owned(),
            name: name.to_owned(),
        };
        let in_namespace = |namespace: &str| {
            config(&format!(
                r#"{{"cluster":"k","sync":{{"mode":"list"}},"namespaces":["{namespace}"],"workloads":[]}}"#
            ))
        };
        let [one, other, hub] = [
            in_namespace("a"),
            in_namespace("b"),
            config(r#"{"cluster":"h","source":"hub"}"#),
        ];
        let defaults = in_namespace("default");
        let pods = [
            (account("both"), Some(&one)),
            (account("both"), Some(&other)),
            (account("both"), Some(&one)),
            (account("both"), None),
            (account("none"), None),
            (account("spoke"), Some(&hub)),
        ];
        let required = required_access(pods.into_iter(), Some(&defaults));
        let required_for = |name: &str| {
            let required = required.get(&account(name)).into_iter().flatten();
            required
                .map(|(verb, source)| format!("{verb} {source}"))
                .collect::<Vec<_>>()
        };
        let of = |namespace: &str| {
            ["horizontalpodautoscalers.autoscaling", "services"]
                .map(|plural| format!("list {plural} in namespace {namespace}"))
        };
        assert_eq!(required_for("both"), [of("a"), of("b")].concat());
        assert_eq!(required_for("none"), of("default"));
        assert!(!required.contains_key(&account("spoke")));
    }

    #[test]
    fn missing_access_is_reported_by_verb() {
        let account = ServiceAccount {
            namespace: "shop".to_owned(),
            name: "gateway".to_owned(),
        };
        let source = |resource: Resource| Source::all_namespaces(ObjectKind::Workloads, resource);
        let answers = |may: [bool; 4]| {
            let required = [
                (Verb::List, Resource::services()),
                (Verb::Watch, Resource::services()),
                (Verb::List, Resource::deployments()),
                (Verb::Watch, Resource::deployments()),
            ];
            let answers = required.into_iter().zip(may);
            answers
                .map(|((verb, resource), may)| (verb, source(resource), may))
                .collect::<Vec<_>>()
        };
        let found = |may| check(&account, &answers(may)).finding;
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
