//! Policies as a leader publishes them.

use super::*;
use crate::name::ObjectName;

const DENY: &str = r#"{"rules":[{"metric":".*","deny":true}]}"#;
const BAD: &str = r#"{"rules":[{"metric":"(","deny":true}]}"#;

fn objects(all: &[(&str, &str)]) -> Vec<PolicyObject> {
    let object = |(name, spec): &(&str, &str)| PolicyObject {
        name: ObjectName::parse(name).unwrap(),
        spec: (*spec).into(),
    };
    all.iter().map(object).collect()
}

fn update(collector: &mut PolicyCollector, all: &[(&str, &str)]) -> (Option<PolicySets>, Vec<String>) {
    collector.update(Some("root"), objects(all).iter(), std::iter::empty())
}

fn names(sets: &PolicySets, namespace: &str) -> Option<Vec<String>> {
    let names = set(sets, namespace).in_force.as_ref()?.iter();
    Some(names.map(|(name, _)| name.to_string()).collect())
}

fn set<'a>(sets: &'a PolicySets, namespace: &str) -> &'a PolicySet {
    find_namespace(sets, namespace).unwrap()
}

#[test]
fn unchanged_policies_are_not_published_again() {
    let mut collector = PolicyCollector::new(None);
    assert_eq!(
        update(&mut collector, &[]).0,
        Some(PolicySets::new()),
        "the empty list is published"
    );
    assert!(update(&mut collector, &[]).0.is_none());
    let (sets, lines) = update(&mut collector, &[("shop/a", DENY), ("shop/b", DENY), ("data/c", DENY)]);
    let sets = sets.unwrap();
    assert_eq!(names(&sets, "shop").unwrap(), ["a", "b"]);
    assert!(lines.is_empty());
    let mut successor = PolicyCollector::new(Some(sets));
    assert!(
        update(&mut successor, &[("shop/a", DENY), ("shop/b", DENY), ("data/c", DENY)])
            .0
            .is_none()
    );
}

#[test]
fn an_invalid_set_is_refused_as_a_whole_and_the_last_valid_one_stays() {
    let mut collector = PolicyCollector::new(None);
    update(&mut collector, &[("shop/a", DENY)]);
    let with_invalid = [("shop/a", BAD), ("shop/b", DENY), ("data/c", DENY)];
    let (sets, lines) = update(&mut collector, &with_invalid);
    let sets = sets.unwrap();
    assert_eq!(names(&sets, "shop").unwrap(), ["a"], "the previous one");
    assert_eq!(set(&sets, "shop").in_force.as_ref().unwrap()[0].1.as_ref(), DENY);
    assert_eq!(
        names(&sets, "data").unwrap(),
        ["c"],
        "another namespace is not affected"
    );
    assert_eq!(
        lines,
        [
            "the ExternalMetricPolicies of namespace shop are refused: shop/a: spec.rules[0].metric: `(` is not \
          closed, at character 1; the previous ones stay in force"
        ]
    );
    let (sets, lines) = update(&mut collector, &[&with_invalid[..], &[("data/d", DENY)]].concat());
    assert!(sets.is_some() && lines.is_empty(), "logged once");
    let (sets, _) = update(&mut collector, &[("shop/b", DENY)]);
    assert_eq!(names(&sets.unwrap(), "shop").unwrap(), ["b"]);
}

#[test]
fn a_set_that_was_never_valid_is_not_in_force() {
    let (sets, lines) = update(&mut PolicyCollector::new(None), &[("shop/a", BAD)]);
    assert_eq!(set(&sets.unwrap(), "shop").in_force, None);
    assert!(
        lines[0].ends_with("there were no previous ones, so no external metric is served there"),
        "{lines:?}"
    );
}

#[test]
fn an_object_that_cannot_be_read_makes_its_set_invalid() {
    let mut collector = PolicyCollector::new(None);
    let bad = [("shop/b", "excluded ExternalMetricPolicy shop/b: a proxy thread died")];
    let (sets, _) = collector.update(None, objects(&[("shop/a", DENY)]).iter(), bad.into_iter());
    assert_eq!(set(&sets.unwrap(), "shop").refused.as_deref(), Some(bad[0].1));
}

#[test]
fn a_namespace_has_a_thousand_rules_together() {
    let rules = vec![r#"{"metric":"a","deny":true}"#; 501].join(",");
    let many = format!(r#"{{"rules":[{rules}]}}"#);
    let (sets, _) = update(
        &mut PolicyCollector::new(None),
        &[("shop/a", &many), ("shop/b", &many), ("data/c", &many)],
    );
    let sets = sets.unwrap();
    assert_eq!(
        set(&sets, "shop").refused.as_deref(),
        Some("the policies up to shop/b have 1002 rules; 1000 are allowed")
    );
    assert!(set(&sets, "data").refused.is_none());
}

/// A large policy that one namespace may have: 3.3 MB when compiled.
fn large(name: &str) -> (String, String) {
    let rules = (0..28).map(|number| format!(r#"{{"metric":"m{number:02}[a-z0-9_/]{{900}}","deny":true}}"#));
    let rules: Vec<_> = rules.collect();
    (name.into(), format!(r#"{{"rules":[{}]}}"#, rules.join(",")))
}

fn borrowed(all: &[(String, String)]) -> Vec<(&str, &str)> {
    all.iter().map(|(name, spec)| (name.as_str(), spec.as_str())).collect()
}

#[test]
fn a_pattern_of_many_ranges_is_refused_in_its_own_namespace() {
    let pattern = "[acegikmoqsuwy02468]{900}";
    let rules = vec![format!(r#"{{"metric":"{pattern}","deny":true}}"#); 430].join(",");
    let expensive = format!(r#"{{"rules":[{rules}]}}"#);
    let (sets, lines) = update(
        &mut PolicyCollector::new(None),
        &[("a1/p", &expensive), ("a2/p", &expensive), ("shop/a", DENY)],
    );
    let sets = sets.unwrap();
    assert_eq!((&set(&sets, "a1").in_force, lines.len()), (&None, 2));
    assert!(lines[1].starts_with(
        "the ExternalMetricPolicies of namespace a2 are refused: a2/p: spec.rules[0].metric: is too large"
    ));
    assert_eq!(names(&sets, "shop").unwrap(), ["a"]);
}

#[test]
fn small_sets_get_memory_first_and_the_others_are_named() {
    let mut all: Vec<_> = (0..40).map(|number| large(&format!("a{number:02}/p"))).collect();
    all.push(large("root/p"));
    all.extend((0..100).map(|number| (format!("small{number:03}/p"), DENY.to_owned())));
    let mut collector = PolicyCollector::new(None);
    let (sets, lines) = update(&mut collector, &borrowed(&all));
    let sets = sets.unwrap();
    let in_force: Vec<_> = sets
        .iter()
        .filter(|set| set.in_force.is_some())
        .map(|set| &*set.namespace)
        .collect();
    assert_eq!(
        in_force[..5],
        ["a00", "a01", "a02", "root", "small000"],
        "the root namespace comes first"
    );
    assert_eq!((in_force.len(), lines.len(), collector.refused()), (104, 37, 37));
    assert_eq!(
        lines[0],
        "the ExternalMetricPolicies of namespace a03 are refused: the policies of all namespaces take more than \
         16777216 bytes when compiled, so the largest sets are not used; there were no previous ones, so no \
         external metric is served there"
    );
    all.retain(|(name, _)| !name.starts_with("a0"));
    let (sets, lines) = update(&mut collector, &borrowed(&all));
    assert_eq!(names(&sets.unwrap(), "a10").unwrap(), ["p"], "there is memory again");
    assert_eq!((lines.len(), collector.refused()), (0, 27));
}

#[test]
fn a_set_that_exceeds_the_memory_leaves_the_previous_one_in_force() {
    let (mut collector, small) = (
        PolicyCollector::new(None),
        r#"{"rules":[{"metric":"a","deny":true}]}"#.to_owned(),
    );
    let mut all: Vec<_> = (0..5).map(|number| large(&format!("a{number}/p"))).collect();
    all.push(("zz/p".into(), small.clone()));
    update(&mut collector, &borrowed(&all));
    all[5] = large("zz/p");
    let sets = update(&mut collector, &borrowed(&all)).0.unwrap();
    let found = set(&sets, "zz");
    assert!(found.refused.is_some());
    assert_eq!(found.in_force.as_ref().unwrap()[0].1.as_ref(), small);
}

#[test]
fn a_published_set_that_exceeds_a_limit_does_not_stay_in_force() {
    let slow = format!(
        r#"{{"rules":[{}]}}"#,
        [r#"{"metric":"(?:.{0,30}){30}x","deny":true}"#; 99].join(",")
    );
    let published = PolicySet {
        namespace: "shop".into(),
        in_force: Some(vec![("p".into(), slow.as_str().into())]),
        refused: None,
    };
    let (sets, _) = update(&mut PolicyCollector::new(Some(vec![published])), &[("shop/p", &slow)]);
    assert_eq!(set(&sets.unwrap(), "shop").in_force, None);
}
