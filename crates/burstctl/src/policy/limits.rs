//! What the filter refuses of policies that are good each for itself: too much together.

use std::collections::BTreeMap;

use burst_policy::Policy;
use burst_policy::cost::{self, MemoryQuota, QuotaExceeded};

/// The places of the policies that cannot be in force with the others, and why. Each comes with its namespace.
pub(super) fn over_limits(policies: &[(&str, &Policy)], root: Option<&str>) -> Vec<(usize, String)> {
    let mut namespaces = BTreeMap::<&str, Vec<usize>>::new();
    for (place, (namespace, _)) in policies.iter().enumerate() {
        namespaces.entry(namespace).or_default().push(place);
    }
    let (mut found, mut sizes) = (Vec::new(), Vec::new());
    for (namespace, places) in &namespaces {
        let set: Vec<_> = places
            .iter()
            .filter_map(|place| policies.get(*place))
            .map(|(_, policy)| *policy)
            .collect();
        match cost::check_set(&set) {
            Ok(bytes) => sizes.push((*namespace, bytes)),
            Err((first, excess)) => {
                let name = set.get(first).map_or("", |policy| policy.name());
                let reason = format!("up to {name} its namespace has {excess}");
                found.extend(places.iter().skip(first).map(|place| (*place, reason.clone())));
            }
        }
    }
    cost::quota_order(root, &mut sizes);
    let mut room = MemoryQuota::default();
    for (namespace, _) in sizes.iter().filter(|(_, bytes)| !room.take(*bytes)) {
        let places = namespaces.get(namespace).into_iter().flatten();
        found.extend(places.map(|place| (*place, QuotaExceeded.to_string())));
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

    fn places(found: Vec<(usize, String)>) -> Vec<usize> {
        found.into_iter().map(|(place, _)| place).collect()
    }

    #[test]
    fn a_namespace_has_its_limits_and_others_have_theirs() {
        let many = policy("a", 400);
        let all = [
            ("shop", &many),
            ("data", &many),
            ("shop", &many),
            ("shop", &many),
            ("shop", &many),
        ];
        let found = over_limits(&all, None);
        assert_eq!(
            found[0],
            (
                3,
                "up to ns/p its namespace has 1200 rules; 1000 are allowed".to_owned()
            )
        );
        assert_eq!(places(found), [3, 4]);
    }

    #[test]
    fn the_largest_sets_are_left_out_and_never_that_of_the_root_namespace() {
        let (large, small) = (policy("[a-z0-9_]{900}", 1), policy("a", 1));
        let all: Vec<_> = ["a", "b", "c"]
            .into_iter()
            .map(|namespace| (namespace, &small))
            .collect();
        assert!(over_limits(&all, None).is_empty());
        let names: Vec<_> = (0..400).map(|number| format!("n{number:03}")).collect();
        let mut all: Vec<_> = names.iter().map(|name| (name.as_str(), &large)).collect();
        all.push(("shop", &small));
        let found = places(over_limits(&all, Some("n399")));
        assert!(found.len() > 200 && !found.contains(&399) && !found.contains(&400) && found.contains(&398));
    }
}
