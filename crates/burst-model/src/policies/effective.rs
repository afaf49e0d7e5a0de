//! The policies of the objects as one VM goes by them.

use super::{PolicySet, PolicySets, compile, position};
use crate::name::Name;
use crate::records::{Confirmed, Record};
use crate::time::Time;
use burst_policy::Policy;
use std::cell::OnceCell;

/// The policies of the objects. Those of a namespace are made ready to decide when it is asked for the first time: a VM
/// that answers no query for a metric keeps their texts and nothing else.
#[derive(Debug, Default)]
pub struct EffectivePolicies {
    /// By namespace; `None` before any leader read them.
    sets: Option<Vec<EffectiveSet>>,
    /// The last reads of the leader when they were seen_reads at.
    seen_reads: Vec<Option<Time>>,
}

/// What the leader told of a namespace.
#[derive(Debug)]
struct EffectiveSet {
    published: PolicySet,
    /// It is the root namespace.
    is_root: bool,
    /// Its policies, or why there are none in force.
    ready: OnceCell<Result<Vec<Policy>, String>>,
}

impl EffectiveSet {
    fn policies(&self) -> Result<&[Policy], PoliciesUnavailable> {
        let ready = self.ready.get_or_init(|| self.read());
        ready.as_deref().map_err(|reason| PoliciesUnavailable::Refused {
            namespace: self.published.namespace.to_string(),
            reason: reason.clone(),
        })
    }

    fn read(&self) -> Result<Vec<Policy>, String> {
        let PolicySet {
            namespace,
            in_force,
            refused,
        } = &self.published;
        let applies = Some(&**namespace).filter(|_| !self.is_root);
        match (in_force, refused) {
            // Without a fault when the leader seen_reads; a newer binary may have more rules than this one knows.
            (Some(specs), _) => compile(namespace, applies, specs).map(|read| read.policies),
            (None, reason) => Err(reason.clone().unwrap_or_default()),
        }
    }
}

/// Why nobody can say whether a query may pass.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoliciesUnavailable {
    /// No leader told anything yet.
    #[error("the ExternalMetricPolicies were never read in full")]
    Unread,
    /// What there is was never without a fault.
    #[error("the ExternalMetricPolicies of namespace {namespace} are refused, and none were in force before: {reason}")]
    Refused {
        /// Whose.
        namespace: String,
        /// What is wrong.
        reason: String,
    },
}

impl EffectivePolicies {
    /// Looks, once a tick, at what the leader told; `told` fetches it, and is asked after a read of the leader only.
    pub fn refresh(&mut self, root: &Name, confirmed: Option<&Confirmed>, told: impl FnOnce() -> Vec<u8>) {
        let Some(Confirmed { lists, .. }) = confirmed else {
            return;
        };
        if *lists == self.seen_reads {
            return;
        }
        self.seen_reads.clone_from(lists);
        if let Some(told) = PolicySets::from_bytes(&told()) {
            let before = self.sets.take().unwrap_or_default();
            self.sets = Some(rebuild(root, before, told));
        }
    }

    /// The policies for queries in a namespace: those of the root namespace, then its own.
    ///
    /// # Errors
    /// One of them is not known.
    pub fn for_namespace<'a>(
        &'a self,
        root: &Name,
        namespace: &str,
    ) -> Result<impl Iterator<Item = &'a Policy> + use<'a>, PoliciesUnavailable> {
        let sets = self.sets.as_ref().ok_or(PoliciesUnavailable::Unread)?;
        let set = |namespace: &str| find(sets, namespace).map_or(Ok(&[][..]), EffectiveSet::policies);
        let own = match namespace == root.as_str() {
            true => &[],
            false => set(namespace)?,
        };
        Ok(set(root.as_str())?.iter().chain(own))
    }
}

fn find<'a>(sets: &'a [EffectiveSet], namespace: &str) -> Option<&'a EffectiveSet> {
    sets.get(position(sets, namespace, |set| &set.published.namespace).ok()?)
}

/// What is told now, as ready as it was where it is the same.
fn rebuild(root: &Name, mut before: Vec<EffectiveSet>, told: PolicySets) -> Vec<EffectiveSet> {
    let renew = |told: PolicySet| {
        let place = position(&before, &told.namespace, |set| &set.published.namespace).ok();
        let same = place
            .and_then(|place| before.get_mut(place))
            .filter(|set| set.published == told);
        let ready = same.map(|set| std::mem::take(&mut set.ready)).unwrap_or_default();
        EffectiveSet {
            is_root: *told.namespace == *root.as_str(),
            published: told,
            ready,
        }
    };
    told.into_iter().map(renew).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const T0: Time = Time::from_unix_millis(1_000_000);

    fn root() -> Name {
        Name::parse("istio-system").unwrap()
    }

    fn confirmed(seconds: u64) -> Confirmed {
        Confirmed {
            generation: 1,
            lists: vec![Some(T0.after(std::time::Duration::from_secs(seconds)))],
        }
    }

    fn told(specs: &[(&str, Option<&str>)]) -> Vec<u8> {
        let set = |(namespace, spec): &(&str, Option<&str>)| {
            let in_force = spec.map(|spec| vec![("p".into(), spec.into())]);
            let refused = spec.is_none().then(|| "no rules".to_owned());
            PolicySet {
                namespace: (*namespace).into(),
                in_force,
                refused,
            }
        };
        specs.iter().map(set).collect::<PolicySets>().to_bytes()
    }

    fn names(effective: &EffectivePolicies, namespace: &str) -> Result<Vec<String>, PoliciesUnavailable> {
        let policies = effective.for_namespace(&root(), namespace)?;
        Ok(policies
            .map(|policy| format!("{} in {:?}", policy.name(), policy.namespace()))
            .collect())
    }

    const DENY: Option<&str> = Some(r#"{"rules":[{"metric":".*","deny":true}]}"#);

    #[test]
    fn the_root_namespace_is_everywhere_and_others_are_at_home() {
        let mut effective = EffectivePolicies::default();
        assert_eq!(names(&effective, "shop"), Err(PoliciesUnavailable::Unread));
        effective.refresh(&root(), Some(&confirmed(1)), || {
            told(&[("istio-system", DENY), ("shop", DENY)])
        });
        let everywhere = "istio-system/p in None";
        assert_eq!(
            names(&effective, "shop").unwrap(),
            [everywhere, "shop/p in Some(\"shop\")"]
        );
        assert_eq!(names(&effective, "data").unwrap(), [everywhere]);
        assert_eq!(names(&effective, "istio-system").unwrap(), [everywhere]);
    }

    #[test]
    fn a_set_that_is_not_in_force_keeps_its_namespace_shut_and_that_of_the_root_all() {
        let mut effective = EffectivePolicies::default();
        effective.refresh(&root(), Some(&confirmed(1)), || told(&[("shop", None)]));
        assert!(matches!(
            names(&effective, "shop"),
            Err(PoliciesUnavailable::Refused { .. })
        ));
        assert_eq!(names(&effective, "data").unwrap(), [""; 0]);
        effective.refresh(&root(), Some(&confirmed(2)), || told(&[("istio-system", None)]));
        assert!(matches!(
            names(&effective, "data"),
            Err(PoliciesUnavailable::Refused { .. })
        ));
    }

    #[test]
    fn shared_data_is_looked_at_after_a_read_and_rubbish_in_it_changes_nothing() {
        let mut effective = EffectivePolicies::default();
        effective.refresh(&root(), None, || panic!("nobody read anything"));
        effective.refresh(&root(), Some(&confirmed(1)), || told(&[("shop", DENY)]));
        effective.refresh(&root(), Some(&confirmed(1)), || panic!("nobody read anything since"));
        effective.refresh(&root(), Some(&confirmed(2)), || vec![0xff; 9]);
        assert_eq!(names(&effective, "shop").unwrap().len(), 1);
    }

    #[test]
    fn a_namespace_is_read_when_it_is_asked_and_not_again_while_it_stays_the_same() {
        let mut effective = EffectivePolicies::default();
        effective.refresh(&root(), Some(&confirmed(1)), || told(&[("data", DENY), ("shop", DENY)]));
        let ready = |effective: &EffectivePolicies| {
            let sets = effective.sets.iter().flatten().map(|set| set.ready.get().is_some());
            sets.collect::<Vec<_>>()
        };
        assert_eq!(ready(&effective), [false, false]);
        names(&effective, "shop").unwrap();
        assert_eq!(ready(&effective), [false, true]);
        let other = Some(r#"{"rules":[{"metric":"a","deny":true}]}"#);
        effective.refresh(&root(), Some(&confirmed(2)), || {
            told(&[("data", other), ("shop", DENY)])
        });
        assert_eq!(ready(&effective), [false, true], "shop has what it had");
        effective.refresh(&root(), Some(&confirmed(3)), || {
            told(&[("data", other), ("shop", other)])
        });
        assert_eq!(ready(&effective), [false, false]);
    }

    #[test]
    fn what_an_older_leader_left_is_held_to_the_limits() {
        let rules = [r#"{"metric":"(?:.{0,30}){30}x","deny":true}"#; 10].join(",");
        let slow = format!(r#"{{"rules":[{rules}]}}"#);
        let mut effective = EffectivePolicies::default();
        effective.refresh(&root(), Some(&confirmed(1)), || {
            told(&[("data", DENY), ("shop", Some(&slow))])
        });
        assert!(matches!(
            names(&effective, "shop"),
            Err(PoliciesUnavailable::Refused { .. })
        ));
        assert_eq!(names(&effective, "data").unwrap().len(), 1);
    }
}
