//! The leader's part in clearing away what configurations that are gone left in shared data.

use crate::host::{self, Cas, SharedValue};
use burst_model::config::Config;
use burst_model::garbage_collection::{AbandonmentDetector, OWNED_KEYS_KEY, OwnedKeys, OwnedKeysRegistry};
use burst_model::records::{Record, RequestCountKeys, SharedKeys};
use burst_model::time::Time;
use std::time::Duration;

const PERIOD: Duration = Duration::from_secs(60);

/// What a leader does for the leaders that nobody follows.
#[derive(Debug)]
pub(crate) struct GarbageCollector {
    own: OwnedKeys,
    detector: AbandonmentDetector,
    looked: Option<Time>,
}

impl GarbageCollector {
    pub(crate) fn new(keys: &SharedKeys, config: &Config) -> Self {
        let SharedKeys {
            lease,
            snapshot,
            confirmed,
            checkpoint: resume,
            failures: troubles,
            policies,
            parsing,
            quarantine,
            adapter_resources: offers,
        } = keys.clone();
        let mut own = OwnedKeys {
            lease,
            keys: vec![
                snapshot, confirmed, resume, troubles, policies, parsing, quarantine, offers,
            ],
            slot_prefixes: Vec::new(),
        };
        if config.requests.is_some() {
            let RequestCountKeys {
                vms,
                reports,
                report_index,
                since,
                sum,
            } = RequestCountKeys::new(config.counting_hash());
            own.keys.extend([report_index, since, sum]);
            own.slot_prefixes.extend([vms, reports]);
        }
        Self {
            own,
            detector: AbandonmentDetector::default(),
            looked: None,
        }
    }

    /// Once a tick. Clears one configuration away at a time: its values are large, and have to be read first.
    pub(crate) fn tick(&mut self, now: Time) {
        let is_due = |looked: Time| now >= looked.after(PERIOD) || now < looked;
        if !self.looked.is_none_or(is_due) {
            return;
        }
        let found = SharedValue::read(OWNED_KEYS_KEY);
        let mut holdings: OwnedKeysRegistry = found.record().unwrap_or_default();
        let is_new = holdings.add(&self.own);
        let is_cleared = self.clear_one(&mut holdings);
        let is_told =
            !is_new && !is_cleared || host::compare_and_set(OWNED_KEYS_KEY, &holdings.to_bytes(), found.cas).is_ok();
        // Where another leader was faster the next tick tries again.
        self.looked = is_told.then_some(now);
    }

    fn clear_one(&mut self, holdings: &mut OwnedKeysRegistry) -> bool {
        let mut abandoned = None;
        for other in holdings.others(&self.own) {
            let lease = SharedValue::read(&other.lease);
            if self.detector.is_abandoned(&other.lease, &lease.bytes) {
                abandoned = Some((other.lease.clone(), lease.cas));
            }
        }
        let Some((lease, cas)) = abandoned else { return false };
        self.detector.forget(&lease);
        if let Some(gone) = holdings.remove(&lease) {
            clear(&gone, cas);
        }
        true
    }
}

/// Empties what a configuration had, unless somebody has it again: who does takes the lease first, and rewrites the values
/// after that. So none of them is emptied that was written since the lease was looked at.
fn clear(gone: &OwnedKeys, lease: Cas) {
    let slots = gone.slot_prefixes.iter().flat_map(|beginning| {
        let keys = (0_usize..).map(move |place| format!("{beginning}/{place}"));
        keys.map(|key| (SharedValue::read(&key).cas, key))
            .take_while(|(cas, _)| *cas != Cas::default())
    });
    let keys = gone.keys.iter().map(|key| (SharedValue::read(key).cas, key.clone()));
    let found: Vec<_> = keys.chain(slots).collect();
    if host::compare_and_set(&gone.lease, &[], lease).is_err() {
        return;
    }
    for (cas, key) in found.into_iter().filter(|(cas, _)| *cas != Cas::default()) {
        let _ = host::compare_and_set(&key, &[], cas);
    }
}
