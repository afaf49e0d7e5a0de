//! Users of the Kubernetes API and the groups that an API server puts them into.

/// The user name of the HPA controller.
pub(crate) const HPA_CONTROLLER: &str = "system:serviceaccount:kube-system:horizontal-pod-autoscaler";

/// The groups to which an API server itself adds a user.
/// <https://kubernetes.io/docs/reference/access-authn-authz/authentication/#service-account-tokens>
#[must_use]
pub(crate) fn groups_of(user: &str) -> Vec<String> {
    let account = user.strip_prefix("system:serviceaccount:");
    let namespace = account
        .and_then(|account| account.split_once(':'))
        .map(|(namespace, _)| namespace);
    let of_accounts = namespace.map(|namespace| {
        let all = "system:serviceaccounts".to_owned();
        let of_namespace = format!("{all}:{namespace}");
        [all, of_namespace]
    });
    let authenticated = "system:authenticated".to_owned();
    of_accounts.into_iter().flatten().chain([authenticated]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_in_the_groups_of_its_kind() {
        assert_eq!(groups_of("alice"), ["system:authenticated"]);
        let controller = [
            "system:serviceaccounts",
            "system:serviceaccounts:kube-system",
            "system:authenticated",
        ];
        assert_eq!(groups_of(HPA_CONTROLLER), controller);
    }
}
