//! Finds the values in shared data that belong to configurations that are gone. A key can be emptied but not deleted, and
//! the host does not tell when the last VM with a configuration is gone. So each leader registers its keys, and empties
//! those of a lease that was not renewed for a long time.

use crate::hash;
use crate::records::Record;
use serde::{Deserialize, Serialize};

/// The key of [`OwnedKeysRegistry`]. All versions of the filter share it, so its format must not change.
pub const OWNED_KEYS_KEY: &str = "burst-metrics/holdings";

/// Consecutive checks, a minute apart, that find a lease unchanged. A live lease is renewed every second. This is longer
/// than a drain, and longer than a reader serves a snapshot that is not confirmed.
const UNCHANGED_CHECKS: u32 = 60;

/// The keys of one configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnedKeys {
    /// The key of its lease.
    pub lease: String,
    /// Its other keys. Some of them may belong to other configurations too.
    pub keys: Vec<String>,
    /// Prefixes of numbered keys: `PREFIX/0`, and so on.
    pub slot_prefixes: Vec<String>,
}

/// The keys of all configurations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnedKeysRegistry(Vec<OwnedKeys>);

impl Record for OwnedKeysRegistry {}

impl OwnedKeysRegistry {
    /// Adds the keys of a configuration. Returns whether any is new.
    pub fn add(&mut self, own: &OwnedKeys) -> bool {
        let Some(known) = self.0.iter_mut().find(|known| known.lease == own.lease) else {
            self.0.push(own.clone());
            return true;
        };
        insert_missing(&mut known.keys, &own.keys) | insert_missing(&mut known.slot_prefixes, &own.slot_prefixes)
    }

    /// All configurations except `own`.
    pub fn others(&self, own: &OwnedKeys) -> impl Iterator<Item = &OwnedKeys> {
        self.0.iter().filter(|other| other.lease != own.lease)
    }

    /// Removes a configuration. Returns the keys of it that no other configuration has.
    pub fn remove(&mut self, lease: &str) -> Option<OwnedKeys> {
        let index = self.0.iter().position(|known| known.lease == lease)?;
        let mut removed = self.0.remove(index);
        removed
            .keys
            .retain(|key| !self.0.iter().any(|other| other.keys.contains(key)));
        removed
            .slot_prefixes
            .retain(|slots| !self.0.iter().any(|other| other.slot_prefixes.contains(slots)));
        Some(removed)
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

/// Detects leases of other configurations that are not renewed any more.
#[derive(Debug, Default)]
pub struct AbandonmentDetector {
    /// The key of each lease, the hash of its value, and how many checks found it unchanged.
    leases: Vec<(String, u64, u32)>,
}

impl AbandonmentDetector {
    /// Checks a lease, a minute after the last check. Returns whether it was abandoned.
    pub fn is_abandoned(&mut self, key: &str, lease: &[u8]) -> bool {
        let hash = hash::of_bytes(lease);
        let Some((_, last_hash, unchanged)) = self.leases.iter_mut().find(|(known, ..)| known == key) else {
            self.leases.push((key.into(), hash, 0));
            return false;
        };
        *unchanged = if *last_hash == hash {
            unchanged.saturating_add(1)
        } else {
            0
        };
        *last_hash = hash;
        *unchanged >= UNCHANGED_CHECKS
    }

    /// Forgets a lease.
    pub fn forget(&mut self, key: &str) {
        self.leases.retain(|(known, ..)| known != key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned_keys(lease: &str, keys: &[&str]) -> OwnedKeys {
        OwnedKeys {
            lease: lease.into(),
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            slot_prefixes: vec![format!("{lease}/vm")],
        }
    }

    #[test]
    fn a_key_that_another_configuration_has_too_is_not_returned() {
        let mut registry = OwnedKeysRegistry::default();
        let [a, b] = [
            owned_keys("a", &["a/snapshot", "resume"]),
            owned_keys("b", &["b/snapshot", "resume"]),
        ];
        assert!(registry.add(&a) && registry.add(&b) && !registry.add(&a));
        assert_eq!(registry.others(&b).collect::<Vec<_>>(), [&a]);
        assert_eq!(registry.remove("a"), Some(owned_keys("a", &["a/snapshot"])));
        assert_eq!(registry.remove("a"), None);
        assert_eq!(registry.remove("b"), Some(b), "no other configuration has it any more");
    }

    #[test]
    fn a_configuration_may_add_keys_later() {
        let mut registry = OwnedKeysRegistry::default();
        registry.add(&owned_keys("a", &["1"]));
        assert!(registry.add(&owned_keys("a", &["2"])));
        assert_eq!(registry.remove("a"), Some(owned_keys("a", &["1", "2"])));
    }

    #[test]
    fn a_lease_that_stays_unchanged_for_long_is_abandoned() {
        let mut detector = AbandonmentDetector::default();
        let mut is_abandoned = |lease: &[u8], times: u32| (0..times).any(|_| detector.is_abandoned("a", lease));
        assert!(!is_abandoned(b"1", UNCHANGED_CHECKS));
        assert!(!is_abandoned(b"2", UNCHANGED_CHECKS), "it was renewed");
        assert!(is_abandoned(b"2", 1));
    }
}
