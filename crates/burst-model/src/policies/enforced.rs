//! The policies of the objects as one VM goes by them.

use super::{PolicySets, place, read};
use crate::name::Name;
use crate::records::{Confirmed, Record};
use crate::time::Time;
use burst_policy::Policy;

/// The policies of the objects, ready to decide.
#[derive(Debug, Default)]
pub struct Enforced {
    /// By namespace; `None` before any leader read them.
    sets: Option<Vec<(Box<str>, Set)>>,
    /// What they were made of.
    told: Option<PolicySets>,
    /// The last reads of the leader when they were looked at.
    looked: Vec<Option<Time>>,
}

/// The policies of a namespace, or why there are none in force.
type Set = Result<Vec<Policy>, String>;

/// Why nobody can say whether a query may pass.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotInForce {
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

impl Enforced {
    /// Looks, once a tick, at what the leader told; `told` fetches it, and is asked after a read of the leader only.
    pub fn look(&mut self, root: &Name, confirmed: Option<&Confirmed>, told: impl FnOnce() -> Vec<u8>) {
        let Some(Confirmed { lists, .. }) = confirmed else {
            return;
        };
        if *lists == self.looked {
            return;
        }
        self.looked.clone_from(lists);
        let Some(told) = PolicySets::from_bytes(&told()) else {
            return;
        };
        if self.told.as_ref() != Some(&told) {
            self.sets = Some(sets(root, &told));
            self.told = Some(told);
        }
    }

    /// The policies for queries in a namespace: those of the root namespace, then its own.
    ///
    /// # Errors
    /// One of them is not known.
    pub fn of<'a>(
        &'a self,
        root: &Name,
        namespace: &str,
    ) -> Result<impl Iterator<Item = &'a Policy> + use<'a>, NotInForce> {
        let sets = self.sets.as_ref().ok_or(NotInForce::Unread)?;
        let set = |namespace: &str| match find(sets, namespace) {
            None => Ok([].as_slice()),
            Some(Ok(policies)) => Ok(policies.as_slice()),
            Some(Err(reason)) => Err(NotInForce::Refused {
                namespace: namespace.into(),
                reason: reason.clone(),
            }),
        };
        let own = if namespace == root.as_str() {
            &[]
        } else {
            set(namespace)?
        };
        Ok(set(root.as_str())?.iter().chain(own))
    }
}

fn find<'a>(sets: &'a [(Box<str>, Set)], namespace: &str) -> Option<&'a Set> {
    let place = place(sets, namespace, |(namespace, _)| namespace).ok()?;
    sets.get(place).map(|(_, set)| set)
}

fn sets(root: &Name, told: &PolicySets) -> Vec<(Box<str>, Set)> {
    let mut sets = Vec::with_capacity(told.len());
    for set in told {
        let namespace = &set.namespace;
        let applies = Some(&**namespace).filter(|namespace| *namespace != root.as_str());
        let policies = match (&set.in_force, &set.refused) {
            // Without a fault when the leader looked; a newer binary may have more rules than this one knows.
            (Some(specs), _) => read(namespace, applies, specs),
            (None, reason) => Err(reason.clone().unwrap_or_default()),
        };
        sets.push((namespace.clone(), policies));
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::super::PolicySet;
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

    fn names(enforced: &Enforced, namespace: &str) -> Result<Vec<String>, NotInForce> {
        let policies = enforced.of(&root(), namespace)?;
        Ok(policies
            .map(|policy| format!("{} in {:?}", policy.name(), policy.namespace()))
            .collect())
    }

    const DENY: Option<&str> = Some(r#"{"rules":[{"metric":".*","deny":true}]}"#);

    #[test]
    fn the_root_namespace_is_everywhere_and_others_are_at_home() {
        let mut enforced = Enforced::default();
        assert_eq!(names(&enforced, "shop"), Err(NotInForce::Unread));
        enforced.look(&root(), Some(&confirmed(1)), || {
            told(&[("istio-system", DENY), ("shop", DENY)])
        });
        let everywhere = "istio-system/p in None";
        assert_eq!(
            names(&enforced, "shop").unwrap(),
            [everywhere, "shop/p in Some(\"shop\")"]
        );
        assert_eq!(names(&enforced, "data").unwrap(), [everywhere]);
        assert_eq!(names(&enforced, "istio-system").unwrap(), [everywhere]);
    }

    #[test]
    fn a_set_that_is_not_in_force_keeps_its_namespace_shut_and_that_of_the_root_all() {
        let mut enforced = Enforced::default();
        enforced.look(&root(), Some(&confirmed(1)), || told(&[("shop", None)]));
        assert!(matches!(names(&enforced, "shop"), Err(NotInForce::Refused { .. })));
        assert_eq!(names(&enforced, "data").unwrap(), [""; 0]);
        enforced.look(&root(), Some(&confirmed(2)), || told(&[("istio-system", None)]));
        assert!(matches!(names(&enforced, "data"), Err(NotInForce::Refused { .. })));
    }

    #[test]
    fn shared_data_is_looked_at_after_a_read_and_rubbish_in_it_changes_nothing() {
        let mut enforced = Enforced::default();
        enforced.look(&root(), None, || panic!("nobody read anything"));
        enforced.look(&root(), Some(&confirmed(1)), || told(&[("shop", DENY)]));
        enforced.look(&root(), Some(&confirmed(1)), || panic!("nobody read anything since"));
        enforced.look(&root(), Some(&confirmed(2)), || vec![0xff; 9]);
        assert_eq!(names(&enforced, "shop").unwrap().len(), 1);
    }
}
