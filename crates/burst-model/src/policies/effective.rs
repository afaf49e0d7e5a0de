//! The policy objects as one VM evaluates them.

use super::{PolicySet, PolicySets, compile, position};
use crate::name::Name;
use crate::records::{Confirmed, Record};
use crate::time::Time;
use burst_policy::Policy;
use std::cell::OnceCell;

/// The policy objects that are in force. Those of a namespace are checked on its first request, so a VM that serves no
/// metrics only stores their text.
#[derive(Debug, Default)]
pub struct EffectivePolicies {
    /// The sets, sorted by namespace; `None` until a leader has read them.
    sets: Option<Vec<EffectiveSet>>,
    /// The reads of the leader that the sets are based on.
    seen_reads: Vec<Option<Time>>,
}

/// The set of a namespace.
#[derive(Debug)]
struct EffectiveSet {
    published: PolicySet,
    /// Whether this is the root namespace.
    is_root: bool,
    /// The checked policies, or why none are in force.
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
            // The leader found them valid, but a leader with a newer version may accept more than this one.
            (Some(specs), _) => compile(namespace, applies, specs).map(|read| read.policies),
            (None, reason) => Err(reason.clone().unwrap_or_default()),
        }
    }
}

/// Why the filter cannot decide on a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoliciesUnavailable {
    /// No leader has published policies yet.
    #[error("the ExternalMetricPolicies have not been read yet")]
    Unread,
    /// The policies of a namespace were never valid.
    #[error("the ExternalMetricPolicies of namespace {namespace} are refused, and none were in force before: {reason}")]
    Refused {
        /// The name of the namespace.
        namespace: String,
        /// What is wrong.
        reason: String,
    },
}

impl EffectivePolicies {
    /// Loads the sets that the leader published. Called once a tick; calls `published` only after a new read of the
    /// leader.
    pub fn refresh(&mut self, root: &Name, confirmed: Option<&Confirmed>, published: impl FnOnce() -> Vec<u8>) {
        let Some(Confirmed { lists, .. }) = confirmed else {
            return;
        };
        if *lists == self.seen_reads {
            return;
        }
        self.seen_reads.clone_from(lists);
        if let Some(published) = PolicySets::from_bytes(&published()) {
            let before = self.sets.take().unwrap_or_default();
            self.sets = Some(rebuild(root, before, published));
        }
    }

    /// Returns the policies for requests in a namespace: those of the root namespace, then its own.
    ///
    /// # Errors
    /// Returns an error if one of the two sets is not available.
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

/// Replaces the sets, and keeps the checked policies of those that did not change.
fn rebuild(root: &Name, mut before: Vec<EffectiveSet>, published: PolicySets) -> Vec<EffectiveSet> {
    let renew = |published: PolicySet| {
        let index = position(&before, &published.namespace, |set| &set.published.namespace).ok();
        let same = index
            .and_then(|index| before.get_mut(index))
            .filter(|set| set.published == published);
        let ready = same.map(|set| std::mem::take(&mut set.ready)).unwrap_or_default();
        EffectiveSet {
            is_root: *published.namespace == *root.as_str(),
            published,
            ready,
        }
    };
    published.into_iter().map(renew).collect()
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

    fn published(specs: &[(&str, Option<&str>)]) -> Vec<u8> {
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
    fn policies_of_the_root_namespace_apply_everywhere() {
        let mut effective = EffectivePolicies::default();
        assert_eq!(names(&effective, "shop"), Err(PoliciesUnavailable::Unread));
        effective.refresh(&root(), Some(&confirmed(1)), || {
            published(&[("istio-system", DENY), ("shop", DENY)])
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
    fn a_refused_set_blocks_its_namespace_and_that_of_the_root_blocks_all() {
        let mut effective = EffectivePolicies::default();
        effective.refresh(&root(), Some(&confirmed(1)), || published(&[("shop", None)]));
        assert!(matches!(
            names(&effective, "shop"),
            Err(PoliciesUnavailable::Refused { .. })
        ));
        assert_eq!(names(&effective, "data").unwrap(), [""; 0]);
        effective.refresh(&root(), Some(&confirmed(2)), || published(&[("istio-system", None)]));
        assert!(matches!(
            names(&effective, "data"),
            Err(PoliciesUnavailable::Refused { .. })
        ));
    }

    #[test]
    fn sets_are_loaded_only_after_a_read_and_garbage_changes_nothing() {
        let mut effective = EffectivePolicies::default();
        effective.refresh(&root(), None, || panic!("there was no read"));
        effective.refresh(&root(), Some(&confirmed(1)), || published(&[("shop", DENY)]));
        effective.refresh(&root(), Some(&confirmed(1)), || panic!("there was no new read"));
        effective.refresh(&root(), Some(&confirmed(2)), || vec![0xff; 9]);
        assert_eq!(names(&effective, "shop").unwrap().len(), 1);
    }

    #[test]
    fn a_set_is_checked_on_its_first_request_and_again_only_if_it_changes() {
        let mut effective = EffectivePolicies::default();
        effective.refresh(&root(), Some(&confirmed(1)), || {
            published(&[("data", DENY), ("shop", DENY)])
        });
        let ready = |effective: &EffectivePolicies| {
            let sets = effective.sets.iter().flatten().map(|set| set.ready.get().is_some());
            sets.collect::<Vec<_>>()
        };
        assert_eq!(ready(&effective), [false, false]);
        names(&effective, "shop").unwrap();
        assert_eq!(ready(&effective), [false, true]);
        let other = Some(r#"{"rules":[{"metric":"a","deny":true}]}"#);
        effective.refresh(&root(), Some(&confirmed(2)), || {
            published(&[("data", other), ("shop", DENY)])
        });
        assert_eq!(ready(&effective), [false, true], "shop did not change");
        effective.refresh(&root(), Some(&confirmed(3)), || {
            published(&[("data", other), ("shop", other)])
        });
        assert_eq!(ready(&effective), [false, false]);
    }

    #[test]
    fn limits_apply_to_sets_of_an_older_leader() {
        let rules = [r#"{"metric":"(?:.{0,30}){30}x","deny":true}"#; 10].join(",");
        let slow = format!(r#"{{"rules":[{rules}]}}"#);
        let mut effective = EffectivePolicies::default();
        effective.refresh(&root(), Some(&confirmed(1)), || {
            published(&[("data", DENY), ("shop", Some(&slow))])
        });
        assert!(matches!(
            names(&effective, "shop"),
            Err(PoliciesUnavailable::Refused { .. })
        ));
        assert_eq!(names(&effective, "data").unwrap().len(), 1);
    }
}
