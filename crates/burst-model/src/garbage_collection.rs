//! What stands in shared data for configurations that are gone. A key of it can be emptied and not deleted, and nobody is
//! told that the last thread with a configuration let it go: so each leader says what is its own, and clears away what
//! belongs to a lease that nobody has renewed for long.

use crate::hash;
use crate::records::Record;
use serde::{Deserialize, Serialize};

/// The key of [`OwnedKeysRegistry`]; for all binaries of the filter, so its form must not change.
pub const OWNED_KEYS_KEY: &str = "burst-metrics/holdings";

/// Looks in a row, a minute apart, that find a lease as it was; a living one is renewed every second. It is longer than a
/// drain, and than anybody who only reads serves what nobody renews.
const UNCHANGED_CHECKS: u32 = 60;

/// What a configuration has in shared data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnedKeys {
    /// The key of its lease.
    pub lease: String,
    /// Keys of values. Other configurations may have some of them too.
    pub keys: Vec<String>,
    /// The beginnings of keys that are counted: `BEGINNING/0`, and so on.
    pub slot_prefixes: Vec<String>,
}

/// What all configurations have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnedKeysRegistry(Vec<OwnedKeys>);

impl Record for OwnedKeysRegistry {}

impl OwnedKeysRegistry {
    /// Adds what a configuration has; whether that is news.
    pub fn add(&mut self, own: &OwnedKeys) -> bool {
        let Some(known) = self.0.iter_mut().find(|known| known.lease == own.lease) else {
            self.0.push(own.clone());
            return true;
        };
        insert_missing(&mut known.keys, &own.keys) | insert_missing(&mut known.slot_prefixes, &own.slot_prefixes)
    }

    /// All but one.
    pub fn others(&self, own: &OwnedKeys) -> impl Iterator<Item = &OwnedKeys> {
        self.0.iter().filter(|other| other.lease != own.lease)
    }

    /// Takes one out; what nobody else has of it.
    pub fn remove(&mut self, lease: &str) -> Option<OwnedKeys> {
        let place = self.0.iter().position(|known| known.lease == lease)?;
        let mut gone = self.0.remove(place);
        gone.keys
            .retain(|key| !self.0.iter().any(|other| other.keys.contains(key)));
        gone.slot_prefixes
            .retain(|slots| !self.0.iter().any(|other| other.slot_prefixes.contains(slots)));
        Some(gone)
    }
}

fn insert_missing(known: &mut Vec<String>, more: &[String]) -> bool {
    let before = known.len();
    for key in more {
        if !known.contains(key) {
            known.push(key.clone());
        }
    }
    known.len() != before
}

/// What a leader saw of the leases of others.
#[derive(Debug, Default)]
pub struct AbandonmentDetector {
    /// The hash of each, and for how many looks it has been that.
    seen: Vec<(String, u64, u32)>,
}

impl AbandonmentDetector {
    /// Looks at a lease, some time after the last look; whether nobody renews it any more.
    pub fn is_abandoned(&mut self, key: &str, lease: &[u8]) -> bool {
        let hash = hash::of_bytes(lease);
        let Some((_, seen, stood)) = self.seen.iter_mut().find(|(known, ..)| known == key) else {
            self.seen.push((key.into(), hash, 0));
            return false;
        };
        *stood = if *seen == hash { stood.saturating_add(1) } else { 0 };
        *seen = hash;
        *stood >= UNCHANGED_CHECKS
    }

    /// Forgets a lease.
    pub fn forget(&mut self, key: &str) {
        self.seen.retain(|(known, ..)| known != key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holding(lease: &str, keys: &[&str]) -> OwnedKeys {
        OwnedKeys {
            lease: lease.into(),
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            slot_prefixes: vec![format!("{lease}/vm")],
        }
    }

    #[test]
    fn what_another_configuration_has_too_is_not_left_over() {
        let mut holdings = OwnedKeysRegistry::default();
        let [a, b] = [
            holding("a", &["a/snapshot", "resume"]),
            holding("b", &["b/snapshot", "resume"]),
        ];
        assert!(holdings.add(&a) && holdings.add(&b) && !holdings.add(&a));
        assert_eq!(holdings.others(&b).collect::<Vec<_>>(), [&a]);
        assert_eq!(holdings.remove("a"), Some(holding("a", &["a/snapshot"])));
        assert_eq!(holdings.remove("a"), None);
        assert_eq!(holdings.remove("b"), Some(b), "nobody else has it any more");
    }

    #[test]
    fn one_lease_may_come_to_have_more() {
        let mut holdings = OwnedKeysRegistry::default();
        holdings.add(&holding("a", &["1"]));
        assert!(holdings.add(&holding("a", &["2"])));
        assert_eq!(holdings.remove("a"), Some(holding("a", &["1", "2"])));
    }

    #[test]
    fn a_lease_is_abandoned_when_it_stands_still_for_long() {
        let mut watchman = AbandonmentDetector::default();
        let mut looks = |lease: &[u8], times: u32| (0..times).any(|_| watchman.is_abandoned("a", lease));
        assert!(!looks(b"1", UNCHANGED_CHECKS));
        assert!(!looks(b"2", UNCHANGED_CHECKS), "it was renewed");
        assert!(looks(b"2", 1));
    }
}
