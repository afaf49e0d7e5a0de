//! Finds policies that are valid by themselves but exceed the filter's limits together.

use std::collections::BTreeMap;

use burst_policy::Policy;
use burst_policy::cost::{self, MemoryQuota, QuotaExceeded};

/// Returns the indexes of the policies that the filter would not enforce, and why. Each policy comes with its
/// namespace.
pub(super) fn exceeding_limits(policies: &[(&str, &Policy)], root: Option<&str>) -> Vec<(usize, String)> {
    let mut namespaces = BTreeMap::<&str, Vec<usize>>::new();
    for (index, (namespace, _)) in policies.iter().enumerate() {
        namespaces.entry(namespace).or_default().push(index);
    }
    let (mut found, mut sizes) = (Vec::new(), Vec::new());
    for (namespace, indexes) in &namespaces {
        let set: Vec<_> = indexes
            .iter()
            .filter_map(|index| policies.get(*index))
            .map(|(_, policy)| *policy)
            .collect();
        match cost::check_set(&set) {
            Ok(bytes) => sizes.push((*namespace, bytes)),
            Err((first, excess)) => {
                let name = set.get(first).map_or("", |policy| policy.name());
                let reason = format!("up to {name} its namespace has {excess}");
                found.extend(indexes.iter().skip(first).map(|index| (*index, reason.clone())));
            }
        }
    }
    cost::quota_order(root, &mut sizes);
    let mut quota = MemoryQuota::default();
    for (namespace, _) in sizes.iter().filter(|(_, bytes)| !quota.take(*bytes)) {
        let indexes = namespaces.get(namespace).into_iter().flatten();
        found.extend(indexes.map(|index| (*index, QuotaExceeded.to_string())));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(pattern: &str, rules: usize) -> Policy {
        let rules = vec![format!(r#"{{"metric":"{pattern}","deny":true}}"#); rules].join(",");
        Policy::parse("ns/p", None, &format!(r#"{{"rules":[{rules}]}}"#)).unwrap()
    }

    fn indexes(found: Vec<(usize, String)>) -> Vec<usize> {
        found.into_iter().map(|(index, _)| index).collect()
    }

    #[test]
    fn each_namespace_has_its_own_limits() {
        let policy_of_400_rules = policy("a", 400);
        let all = [
            ("shop", &policy_of_400_rules),
            ("data", &policy_of_400_rules),
            ("shop", &policy_of_400_rules),
            ("shop", &policy_of_400_rules),
            ("shop", &policy_of_400_rules),
        ];
        let found = exceeding_limits(&all, None);
        assert_eq!(
            found[0],
            (
                3,
                "up to ns/p its namespace has 1200 rules; 1000 are allowed".to_owned()
            )
        );
        assert_eq!(indexes(found), [3, 4]);
    }

    #[test]
    fn the_largest_sets_exceed_the_quota_but_never_that_of_the_root_namespace() {
        let (large, small) = (policy("[a-z0-9_]{900}", 1), policy("a", 1));
        let all: Vec<_> = ["a", "b", "c"]
            .into_iter()
            .map(|namespace| (namespace, &small))
            .collect();
        assert!(exceeding_limits(&all, None).is_empty());
        let names: Vec<_> = (0..400).map(|number| format!("n{number:03}")).collect();
        let mut all: Vec<_> = names.iter().map(|name| (name.as_str(), &large)).collect();
        all.push(("shop", &small));
        let found = indexes(exceeding_limits(&all, Some("n399")));
        assert!(found.len() > 200 && !found.contains(&399) && !found.contains(&400) && found.contains(&398));
    }
}
