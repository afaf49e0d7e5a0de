//! External metric policies without a cluster: what they are, and what they say of the HPAs that somebody wants to have.

pub mod admission;
#[cfg(feature = "live")]
pub mod check;
mod files;
mod limits;
mod narrow;
pub mod test;

pub use files::{Faulty, Policies};

use burst_policy::{DefaultDecision, Policy};

/// The user that the HPA controller is to an API server.
pub const CONTROLLER: &str = "system:serviceaccount:kube-system:horizontal-pod-autoscaler";

/// The groups that an API server puts a user into, whoever else does.
/// <https://kubernetes.io/docs/reference/access-authn-authz/authentication/#service-account-tokens>
#[must_use]
pub fn groups_of(user: &str) -> Vec<String> {
    let account = user.strip_prefix("system:serviceaccount:");
    let namespace = account
        .and_then(|account| account.split_once(':'))
        .map(|(namespace, _)| namespace);
    let of_accounts = namespace.map(|namespace| {
        let all = "system:serviceaccounts".to_owned();
        let own = format!("{all}:{namespace}");
        [all, own]
    });
    let everybody = "system:authenticated".to_owned();
    of_accounts.into_iter().flatten().chain([everybody]).collect()
}

/// Policies as they meet somebody's queries.
#[derive(Debug)]
pub struct Court<'a> {
    /// All of them, in the order in which they are asked.
    pub policies: &'a [Policy],
    /// What becomes of a query that none is for.
    pub default: DefaultDecision,
    /// Who asks.
    pub user: &'a str,
    /// Their groups.
    pub groups: &'a [String],
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
        assert_eq!(groups_of(CONTROLLER), controller);
    }
}
