//! Empties the keys of configurations that are gone. A key cannot be deleted, and no callback says that the last VM of a
//! configuration is gone. So each leader registers its keys, and empties those of a lease that is no longer renewed.

use crate::shared_data::{CasConflict, SharedData, SharedValue};
use crate::slots::slot_key;
use burst_model::config::Config;
use burst_model::garbage_collection::{AbandonmentDetector, OWNED_KEYS_KEY, OwnedKeys, OwnedKeysRegistry};
use burst_model::records::{PeerKeys, Record, RequestCountKeys, SharedKeys};
use burst_model::time::Time;
use std::marker::PhantomData;
use std::time::Duration;

const PERIOD: Duration = Duration::from_secs(60);

/// The leader's part in garbage collection.
#[derive(Debug)]
pub struct GarbageCollector<H> {
    own: OwnedKeys,
    detector: AbandonmentDetector,
    last_run: Option<Time>,
    host: PhantomData<H>,
}

impl<H: SharedData> GarbageCollector<H> {
    /// The garbage collector of a leader with these keys.
    #[must_use]
    pub fn new(keys: &SharedKeys, config: &Config) -> Self {
        // Taken apart field by field, so that a new key cannot be forgotten here.
        let SharedKeys {
            lease,
            snapshot,
            confirmed,
            checkpoint,
            failures,
            policies,
            parsing,
            quarantine,
            adapter_resources,
            wake_queues,
            full_candidates,
        } = keys.clone();
        let mut own = OwnedKeys {
            lease,
            keys: vec![
                snapshot,
                confirmed,
                checkpoint,
                failures,
                policies,
                parsing,
                quarantine,
                adapter_resources,
                wake_queues,
                full_candidates,
            ],
            slot_prefixes: Vec::new(),
        };
        for peer in config.peers.iter().flat_map(|peers| &peers.peers) {
            let PeerKeys {
                snapshot,
                confirmed,
                failures,
            } = PeerKeys::new(config.metrics_hash(), peer);
            own.keys.extend([snapshot, confirmed, failures]);
        }
        if config.requests.is_some() {
            let RequestCountKeys {
                vms,
                reports,
                report_index,
                since,
                sum,
            } = RequestCountKeys::new(config.metrics_hash());
            own.keys.extend([report_index, since, sum]);
            own.slot_prefixes.extend([vms, reports]);
        }
        Self {
            own,
            detector: AbandonmentDetector::default(),
            last_run: None,
            host: PhantomData,
        }
    }

    /// Called once a tick. Collects one configuration at a time, because its values are large and have to be read first.
    pub fn tick(&mut self, now: Time) {
        let is_due = |last: Time| now >= last.after(PERIOD) || now < last;
        if self.last_run.is_none_or(is_due) && self.run().is_ok() {
            self.last_run = Some(now);
        }
    }

    fn run(&mut self) -> Result<(), CasConflict> {
        let found = H::read(OWNED_KEYS_KEY);
        let mut registry: OwnedKeysRegistry = found.record().unwrap_or_default();
        let is_new = registry.add(&self.own);
        let has_collected = self.collect_one(&mut registry);
        match is_new || has_collected {
            true => H::compare_and_set(OWNED_KEYS_KEY, &registry.to_bytes(), found.cas),
            false => Ok(()),
        }
    }

    fn collect_one(&mut self, registry: &mut OwnedKeysRegistry) -> bool {
        let mut abandoned = None;
        for other in registry.others(&self.own) {
            let lease = H::read(&other.lease);
            if self.detector.is_abandoned(&other.lease, &lease.bytes) {
                abandoned = Some((other.lease.clone(), lease));
            }
        }
        let Some((name, lease)) = abandoned else { return false };
        self.detector.forget(&name);
        if let Some(gone) = registry.remove(&name) {
            empty::<H>(&gone, &lease);
        }
        true
    }
}

/// Empties the keys of a configuration unless a leader has taken them again. A leader takes the lease first and rewrites
/// the other keys after that, so no key is emptied that was written after the lease was read.
fn empty<H: SharedData>(gone: &OwnedKeys, lease: &SharedValue) {
    let plain = gone.keys.iter().map(|key| (H::read(key), key.clone()));
    let slots = gone.slot_prefixes.iter().flat_map(|prefix| {
        (0_usize..)
            .map(move |slot| slot_key(prefix, slot))
            .map(|key| (H::read(&key), key))
            .take_while(|(found, _)| found.exists())
    });
    let found: Vec<_> = plain
        .chain(slots)
        .map(|(found, key)| (found.cas, found.exists(), key))
        .collect();
    if H::compare_and_set(&gone.lease, &[], lease.cas).is_err() {
        return;
    }
    for (cas, _, key) in found.into_iter().filter(|(_, exists, _)| *exists) {
        let _ = H::compare_and_set(&key, &[], cas);
    }
}
