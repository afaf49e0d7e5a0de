//! Policies that are objects, from the leader that reads them to every VM that goes by them.
//!
//! All of a namespace are one set, which is in force as a whole: with one policy left out, more would pass than anybody
//! wrote. So a set with something wrong in it is refused, and the one before it stays in force. Namespaces do not
//! wait for each other: nobody can hold up another's policies.

mod enforced;

pub use enforced::{Enforced, NotInForce};

use crate::hash;
use crate::kube::PolicySpec;
use burst_policy::cost::{self, NoRoom, Room};
use burst_policy::{BadPolicy, Policy};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The policies of every namespace that has any, by its name: what the leader tells the other VMs.
pub type PolicySets = Vec<PolicySet>;

/// The policies of one namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicySet {
    /// Which.
    pub namespace: Box<str>,
    /// The last ones without a fault: the name of each, and its `spec` as JSON. `None` before the first.
    pub in_force: Option<Vec<Spec>>,
    /// Why those that there are now are not in force.
    pub refused: Option<String>,
}

/// The policies as the leader read them.
#[derive(Debug)]
pub(crate) struct Gathered {
    /// What was told last; `None` before anything was.
    told: Option<PolicySets>,
    /// The hash of what that was made of.
    made_of: Option<u64>,
    sizes: Sizes,
}

/// The bytes of sets, or why they cannot be in force, by the hash of each: when one namespace changes, the others are not
/// read again.
type Sizes = BTreeMap<u64, Result<usize, String>>;

/// A namespace's objects: the spec of each by its name, and a line about one that could not even be read.
#[derive(Debug, Hash)]
struct Found<'a> {
    namespace: &'a str,
    specs: Vec<&'a PolicySpec>,
    bad: Option<&'a str>,
}

/// Where a namespace stands among others, or would.
fn place<T>(sets: &[T], namespace: &str, of: impl Fn(&T) -> &str) -> Result<usize, usize> {
    sets.binary_search_by(|set| of(set).cmp(namespace))
}

fn found<'a, 'b>(all: &'b mut Vec<Found<'a>>, namespace: &'a str) -> Option<&'b mut Found<'a>> {
    let place = place(all, namespace, |found| found.namespace).unwrap_or_else(|place| {
        let (specs, bad) = (Vec::new(), None);
        all.insert(place, Found { namespace, specs, bad });
        place
    });
    all.get_mut(place)
}

impl Gathered {
    /// Goes on from what the last leader told.
    pub(crate) fn new(told: Option<PolicySets>) -> Self {
        Self {
            told,
            made_of: None,
            sizes: Sizes::new(),
        }
    }

    /// The namespaces whose policies are refused.
    pub(crate) fn refused(&self) -> usize {
        let told = self.told.iter().flatten();
        told.filter(|set| set.refused.is_some()).count()
    }

    /// Takes all objects that there are, and the lines about those that could not be read. The sets where they are
    /// others than before, and what to warn of.
    pub(crate) fn gather<'a>(
        &mut self,
        root: Option<&str>,
        objects: impl Iterator<Item = &'a PolicySpec>,
        bad: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> (Option<PolicySets>, Vec<String>) {
        let mut all = Vec::new();
        for policy in objects {
            let set = found(&mut all, policy.name.namespace.as_str());
            set.into_iter().for_each(|set| set.specs.push(policy));
        }
        for (name, line) in bad {
            let namespace = name.split_once('/').map_or("", |(namespace, _)| namespace);
            found(&mut all, namespace)
                .into_iter()
                .for_each(|set| set.bad = Some(line));
        }
        let made_of = Some(hash::of(&all));
        if made_of == self.made_of {
            return (None, Vec::new());
        }
        self.made_of = made_of;
        let before = self.told.as_deref().unwrap_or_default();
        let mut known = std::mem::take(&mut self.sizes);
        let mut size = |namespace: &str, specs: &[Spec]| {
            let mark = hash::of(&(namespace, specs));
            let fresh = || {
                known
                    .remove(&mark)
                    .unwrap_or_else(|| read(namespace, None, specs).map(|read| read.bytes))
            };
            self.sizes.entry(mark).or_insert_with(fresh).clone()
        };
        let mut sized: Vec<_> = all
            .iter()
            .map(|found| Sized::of(found, of_namespace(before, found.namespace), &mut size))
            .collect();
        make_room(root, &mut sized);
        let sets: PolicySets = sized.into_iter().map(Sized::into_set).collect();
        let is_new = |set: &&PolicySet| {
            let before = of_namespace(before, &set.namespace);
            set.refused.as_ref() != before.and_then(|before| before.refused.as_ref())
        };
        let lines = sets.iter().filter(is_new).filter_map(PolicySet::warning).collect();
        let sets = Some(sets).filter(|sets| self.told.as_ref() != Some(sets));
        if sets.is_some() {
            self.told.clone_from(&sets);
        }
        (sets, lines)
    }
}

/// The set of a namespace.
fn of_namespace<'a>(sets: &'a [PolicySet], namespace: &str) -> Option<&'a PolicySet> {
    sets.get(place(sets, namespace, |set| &set.namespace).ok()?)
}

/// The name of a policy, and its `spec` as JSON.
type Spec = (Box<str>, Box<str>);

/// A namespace's policies, and the room that they need.
#[derive(Debug)]
struct Sized<'a> {
    namespace: &'a str,
    /// Those that there are now, or why they cannot be in force.
    now: Result<(usize, Vec<Spec>), String>,
    /// Those that were in force before.
    before: Option<(usize, &'a [Spec])>,
}

impl<'a> Sized<'a> {
    fn of(
        found: &Found<'a>,
        before: Option<&'a PolicySet>,
        size: &mut impl FnMut(&str, &[Spec]) -> Result<usize, String>,
    ) -> Self {
        let namespace = found.namespace;
        let spec = |policy: &&PolicySpec| (policy.name.name.as_str().into(), policy.spec.clone());
        let specs: Vec<_> = found.specs.iter().map(spec).collect();
        let now = match found.bad {
            Some(line) => Err(line.to_owned()),
            None => size(namespace, &specs).map(|bytes| (bytes, specs)),
        };
        // An older leader may have left what is too much now.
        let before = before.and_then(|before| before.in_force.as_deref());
        let before = before.and_then(|specs| Some((size(namespace, specs).ok()?, specs)));
        Self { namespace, now, before }
    }

    /// The bytes of those that are to be in force.
    fn bytes(&self) -> usize {
        let now = self.now.as_ref().map(|(bytes, _)| *bytes).ok();
        now.or(self.before.map(|(bytes, _)| bytes)).unwrap_or_default()
    }

    /// Takes room for those that there are now, or else for those before.
    fn take(&mut self, room: &mut Room) {
        if self.now.as_ref().is_ok_and(|(bytes, _)| !room.take(*bytes)) {
            self.now = Err(NoRoom.to_string());
        }
        if self.now.is_err() {
            self.before = self.before.filter(|(bytes, _)| room.take(*bytes));
        }
    }

    fn into_set(self) -> PolicySet {
        let (in_force, refused) = match self.now {
            Ok((_, specs)) => (Some(specs), None),
            Err(reason) => (self.before.map(|(_, specs)| specs.to_vec()), Some(reason)),
        };
        PolicySet {
            namespace: self.namespace.into(),
            in_force,
            refused,
        }
    }
}

/// Leaves out what there is no room for.
fn make_room(root: Option<&str>, sets: &mut [Sized<'_>]) {
    let mut order: Vec<_> = sets.iter().map(|set| (set.namespace, set.bytes())).collect();
    cost::in_order(root, &mut order);
    let mut room = Room::default();
    for (namespace, _) in order {
        let set = place(sets, namespace, |set| set.namespace)
            .ok()
            .and_then(|place| sets.get_mut(place));
        set.into_iter().for_each(|set| set.take(&mut room));
    }
}

impl PolicySet {
    fn warning(&self) -> Option<String> {
        let namespace = &self.namespace;
        let instead = match self.in_force {
            Some(_) => "those before them stay in force",
            None => "there were none before them, so no external metric is served by them",
        };
        let reason = self.refused.as_ref()?;
        Some(format!(
            "the ExternalMetricPolicies of namespace {namespace} are refused: {reason}; {instead}"
        ))
    }
}

/// The policies of a namespace, ready to decide.
#[derive(Debug)]
struct Read {
    policies: Vec<Policy>,
    /// What they occupy, their specs among it.
    bytes: usize,
}

/// The policies of a namespace, or why they are none; `applies` is where they do.
fn read(namespace: &str, applies: Option<&str>, specs: &[Spec]) -> Result<Read, String> {
    let mut policies = Vec::with_capacity(specs.len());
    for (name, spec) in specs {
        let title = format!("{namespace}/{name}");
        let policy = Policy::parse(&title, applies, spec);
        policies.push(policy.map_err(|BadPolicy { place, fault }| format!("{title}: spec.{place}: {fault}"))?);
    }
    let cost = cost::of_set(&policies.iter().collect::<Vec<_>>());
    let bytes = cost.map_err(|(place, excess)| {
        let title = policies.get(place).map_or("", Policy::name);
        format!("up to {title} they have {excess}")
    })?;
    let of_specs: usize = specs.iter().map(|(_, spec)| spec.len()).sum();
    let bytes = bytes + of_specs;
    Ok(Read { policies, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::ObjectName;

    const DENY: &str = r#"{"rules":[{"metric":".*","deny":true}]}"#;
    const BAD: &str = r#"{"rules":[{"metric":"(","deny":true}]}"#;

    fn objects(all: &[(&str, &str)]) -> Vec<PolicySpec> {
        let object = |(name, spec): &(&str, &str)| PolicySpec {
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
        let bad = [("shop/b", "left out ExternalMetricPolicy shop/b: a proxy thread died")];
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
            vec![r#"{"metric":"(?:.{0,30}){30}x","deny":true}"#; 99].join(",")
        );
        let told = PolicySet {
            namespace: "shop".into(),
            in_force: Some(vec![("p".into(), slow.as_str().into())]),
            refused: None,
        };
        let (sets, _) = gather(&mut Gathered::new(Some(vec![told])), &[("shop/p", &slow)]);
        assert_eq!(set(&sets.unwrap(), "shop").in_force, None);
    }
}
