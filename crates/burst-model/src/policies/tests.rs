//! Policies as a leader tells them.

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

fn gather(gathered: &mut Gathered, all: &[(&str, &str)]) -> (Option<PolicySets>, Vec<String>) {
    gathered.gather(Some("root"), objects(all).iter(), std::iter::empty())
}

fn names(sets: &PolicySets, namespace: &str) -> Option<Vec<String>> {
    let names = set(sets, namespace).in_force.as_ref()?.iter();
    Some(names.map(|(name, _)| name.to_string()).collect())
}

fn set<'a>(sets: &'a PolicySets, namespace: &str) -> &'a PolicySet {
    of_namespace(sets, namespace).unwrap()
}

#[test]
fn what_did_not_change_is_not_told_again() {
    let mut gathered = Gathered::new(None);
    assert_eq!(
        gather(&mut gathered, &[]).0,
        Some(PolicySets::new()),
        "that there are none is told"
    );
    assert!(gather(&mut gathered, &[]).0.is_none());
    let (sets, lines) = gather(&mut gathered, &[("shop/a", DENY), ("shop/b", DENY), ("data/c", DENY)]);
    let sets = sets.unwrap();
    assert_eq!(names(&sets, "shop").unwrap(), ["a", "b"]);
    assert!(lines.is_empty());
    let mut successor = Gathered::new(Some(sets));
    assert!(
        gather(&mut successor, &[("shop/a", DENY), ("shop/b", DENY), ("data/c", DENY)])
            .0
            .is_none()
    );
}

#[test]
fn a_set_with_a_fault_is_refused_as_a_whole_and_the_last_good_one_stays() {
    let mut gathered = Gathered::new(None);
    gather(&mut gathered, &[("shop/a", DENY)]);
    let spoiled = [("shop/a", BAD), ("shop/b", DENY), ("data/c", DENY)];
    let (sets, lines) = gather(&mut gathered, &spoiled);
    let sets = sets.unwrap();
    assert_eq!(names(&sets, "shop").unwrap(), ["a"], "of before");
    assert_eq!(set(&sets, "shop").in_force.as_ref().unwrap()[0].1.as_ref(), DENY);
    assert_eq!(names(&sets, "data").unwrap(), ["c"], "which has nothing to do with it");
    assert_eq!(
        lines,
        [
            "the ExternalMetricPolicies of namespace shop are refused: shop/a: spec.rules[0].metric: `(` is not \
          closed, at character 1; those before them stay in force"
        ]
    );
    let (sets, lines) = gather(&mut gathered, &[&spoiled[..], &[("data/d", DENY)]].concat());
    assert!(sets.is_some() && lines.is_empty(), "said once");
    let (sets, _) = gather(&mut gathered, &[("shop/b", DENY)]);
    assert_eq!(names(&sets.unwrap(), "shop").unwrap(), ["b"]);
}

#[test]
fn a_set_that_never_was_without_a_fault_is_not_in_force() {
    let (sets, lines) = gather(&mut Gathered::new(None), &[("shop/a", BAD)]);
    assert_eq!(set(&sets.unwrap(), "shop").in_force, None);
    assert!(
        lines[0].ends_with("there were none before them, so no external metric is served by them"),
        "{lines:?}"
    );
}

#[test]
fn an_object_that_cannot_be_read_is_a_fault_of_its_set() {
    let mut gathered = Gathered::new(None);
    let bad = [("shop/b", "excluded ExternalMetricPolicy shop/b: a proxy thread died")];
    let (sets, _) = gathered.gather(None, objects(&[("shop/a", DENY)]).iter(), bad.into_iter());
    assert_eq!(set(&sets.unwrap(), "shop").refused.as_deref(), Some(bad[0].1));
}

#[test]
fn a_namespace_has_a_thousand_rules_together() {
    let rules = vec![r#"{"metric":"a","deny":true}"#; 501].join(",");
    let many = format!(r#"{{"rules":[{rules}]}}"#);
    let (sets, _) = gather(
        &mut Gathered::new(None),
        &[("shop/a", &many), ("shop/b", &many), ("data/c", &many)],
    );
    let sets = sets.unwrap();
    assert_eq!(
        set(&sets, "shop").refused.as_deref(),
        Some("up to shop/b they have 1002 rules; 1000 are allowed")
    );
    assert!(set(&sets, "data").refused.is_none());
}

/// Large, and good for a namespace: 3.3 MB when it is compiled.
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
    let attack = format!(r#"{{"rules":[{rules}]}}"#);
    let (sets, lines) = gather(
        &mut Gathered::new(None),
        &[("a1/p", &attack), ("a2/p", &attack), ("shop/a", DENY)],
    );
    let sets = sets.unwrap();
    assert_eq!((&set(&sets, "a1").in_force, lines.len()), (&None, 2));
    assert!(lines[1].starts_with(
        "the ExternalMetricPolicies of namespace a2 are refused: a2/p: spec.rules[0].metric: is too large"
    ));
    assert_eq!(names(&sets, "shop").unwrap(), ["a"]);
}

#[test]
fn there_is_room_for_small_sets_first_and_what_is_left_out_is_named() {
    let mut all: Vec<_> = (0..40).map(|number| large(&format!("a{number:02}/p"))).collect();
    all.push(large("root/p"));
    all.extend((0..100).map(|number| (format!("small{number:03}/p"), DENY.to_owned())));
    let mut gathered = Gathered::new(None);
    let (sets, lines) = gather(&mut gathered, &borrowed(&all));
    let sets = sets.unwrap();
    let in_force: Vec<_> = sets
        .iter()
        .filter(|set| set.in_force.is_some())
        .map(|set| &*set.namespace)
        .collect();
    assert_eq!(
        in_force[..5],
        ["a00", "a01", "a02", "root", "small000"],
        "that of the root namespace is the first"
    );
    assert_eq!((in_force.len(), lines.len(), gathered.refused()), (104, 37, 37));
    assert_eq!(
        lines[0],
        "the ExternalMetricPolicies of namespace a03 are refused: those of all namespaces have more than 16777216 \
         bytes when they are compiled, and the largest are left out; there were none before them, so no external \
         metric is served by them"
    );
    all.retain(|(name, _)| !name.starts_with("a0"));
    let (sets, lines) = gather(&mut gathered, &borrowed(&all));
    assert_eq!(names(&sets.unwrap(), "a10").unwrap(), ["p"], "there is room again");
    assert_eq!((lines.len(), gathered.refused()), (0, 27));
}

#[test]
fn a_set_that_there_is_no_room_for_any_more_leaves_the_one_before_it_in_force() {
    let (mut gathered, small) = (
        Gathered::new(None),
        r#"{"rules":[{"metric":"a","deny":true}]}"#.to_owned(),
    );
    let mut all: Vec<_> = (0..5).map(|number| large(&format!("a{number}/p"))).collect();
    all.push(("zz/p".into(), small.clone()));
    gather(&mut gathered, &borrowed(&all));
    all[5] = large("zz/p");
    let sets = gather(&mut gathered, &borrowed(&all)).0.unwrap();
    let found = set(&sets, "zz");
    assert!(found.refused.is_some());
    assert_eq!(found.in_force.as_ref().unwrap()[0].1.as_ref(), small);
}

#[test]
fn what_an_older_leader_told_that_is_too_much_does_not_stay_in_force() {
    let slow = format!(
        r#"{{"rules":[{}]}}"#,
        [r#"{"metric":"(?:.{0,30}){30}x","deny":true}"#; 99].join(",")
    );
    let told = PolicySet {
        namespace: "shop".into(),
        in_force: Some(vec![("p".into(), slow.as_str().into())]),
        refused: None,
    };
    let (sets, _) = gather(&mut Gathered::new(Some(vec![told])), &[("shop/p", &slow)]);
    assert_eq!(set(&sets.unwrap(), "shop").in_force, None);
}
