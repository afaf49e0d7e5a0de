//! Policies that are objects, from the leader that reads them to every VM that goes by them.
//!
//! All of a namespace are one set, which is in force as a whole: with one policy left out, more would pass than anybody
//! wrote. So a set with something wrong in it is refused, and the one before it stays in force. Namespaces do not
//! wait for each other: nobody can hold up another's policies.

mod enforced;

pub use enforced::{Enforced, NotInForce};

use crate::hash;
use crate::kube::PolicySpec;
use crate::printable::printable;
use burst_policy::{BadPolicy, MOST_RULES, Policy};
use serde::{Deserialize, Serialize};

/// Bytes of a reason, which may quote what is wrong: every thread keeps it, and says it where it refuses a metric.
const MOST_REASON: usize = 1024;

/// The policies of every namespace that has any, by its name: what the leader tells the other VMs.
pub type PolicySets = Vec<PolicySet>;

/// The policies of one namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicySet {
    /// Which.
    pub namespace: Box<str>,
    /// The last ones without a fault: the name of each, and its `spec` as JSON. `None` before the first.
    pub in_force: Option<Vec<(Box<str>, Box<str>)>>,
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
}

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
        Self { told, made_of: None }
    }

    /// Takes all objects that there are, and the lines about those that could not be read. The sets where they are
    /// others than before, and what to warn of.
    pub(crate) fn gather<'a>(
        &mut self,
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
        let (mut sets, mut lines) = (PolicySets::new(), Vec::new());
        for found in &all {
            let before = self
                .told
                .as_deref()
                .and_then(|told| of_namespace(told, found.namespace));
            let set = found.set(before);
            if set.refused.as_ref() != before.and_then(|before| before.refused.as_ref()) {
                lines.extend(set.warning());
            }
            sets.push(set);
        }
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

impl Found<'_> {
    fn set(&self, before: Option<&PolicySet>) -> PolicySet {
        let spec = |policy: &&PolicySpec| (policy.name.name.as_str().into(), policy.spec.clone());
        let specs: Vec<_> = self.specs.iter().map(spec).collect();
        let checked = match self.bad {
            Some(line) => Err(line.to_owned()),
            None => read(self.namespace, None, &specs).map(drop),
        };
        let (in_force, refused) = match checked {
            Ok(()) => (Some(specs), None),
            Err(reason) => (before.and_then(|before| before.in_force.clone()), Some(reason)),
        };
        let namespace = self.namespace.into();
        PolicySet {
            namespace,
            in_force,
            refused,
        }
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

/// The policies of a namespace, or why they are none; `applies` is where they do.
fn read(namespace: &str, applies: Option<&str>, specs: &[(Box<str>, Box<str>)]) -> Result<Vec<Policy>, String> {
    let (mut policies, mut rules) = (Vec::new(), 0);
    for (name, spec) in specs {
        let title = format!("{namespace}/{name}");
        let policy = Policy::parse(&title, applies, spec);
        let policy = policy.map_err(|BadPolicy { place, fault }| {
            printable(format_args!("{title}: spec.{place}: {fault}"), MOST_REASON)
        })?;
        rules += policy.rules().len();
        if rules > MOST_RULES {
            return Err(format!(
                "up to {title} they have {rules} rules; {MOST_RULES} are allowed"
            ));
        }
        policies.push(policy);
    }
    Ok(policies)
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
        gathered.gather(objects(all).iter(), std::iter::empty())
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
        let (sets, _) = gathered.gather(objects(&[("shop/a", DENY)]).iter(), bad.into_iter());
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
}
