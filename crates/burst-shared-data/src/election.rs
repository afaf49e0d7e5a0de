//! The election in shared data: observes the lease, and takes, renews or releases it.

use crate::ids::new_vm_id;
use crate::quarantine::Quarantine;
use crate::shared_data::{CasConflict, SharedData, SharedValue};
use burst_model::config::Artifact;
use burst_model::records::{Record, SharedKeys};
use burst_model::sync::election::{Decision, EXPIRY_TICKS, Elector, ElectorState, Lease, expiry_ticks_after};
use burst_model::time::Time;
use std::marker::PhantomData;
use std::time::Duration;

/// A candidate in the election of a proxy's leader.
#[derive(Debug)]
pub struct Election<H> {
    /// The key of the lease.
    lease: String,
    /// The key of the record that the candidates with the full module renew.
    full_candidates: String,
    module: Artifact,
    keeps_labels: bool,
    /// Made in the first tick. Envoy tries a configuration in a canary VM, which never ticks and must write nothing.
    elector: Option<Elector>,
    /// A leader is gone if its lease was not renewed for so many ticks.
    expiry_ticks: u32,
    host: PhantomData<H>,
}

impl<H: SharedData> Election<H> {
    /// A candidate for the lease under these keys, which runs that module. `keeps_labels`: the snapshot that it would write
    /// has the labels of the objects.
    #[must_use]
    pub fn new(keys: &SharedKeys, module: Artifact, keeps_labels: bool) -> Self {
        Self {
            lease: keys.lease.clone(),
            full_candidates: keys.full_candidates.clone(),
            module,
            keeps_labels,
            elector: None,
            expiry_ticks: EXPIRY_TICKS,
            host: PhantomData,
        }
    }

    /// Lets a lease that is not renewed expire `pause` later than usual.
    pub fn set_pause(&mut self, pause: Duration) {
        self.expiry_ticks = expiry_ticks_after(pause);
    }

    /// Observes the lease, at least once a tick. Returns it if this candidate leads now. If the last leader was lost, what it
    /// was doing goes into quarantine.
    pub fn observe(&mut self, state: ElectorState, quarantine: &Quarantine<H>, now: Time) -> Option<Lease> {
        let new_elector = || Some(Elector::new(new_vm_id::<H>()?, self.module, self.keeps_labels));
        let elector = self.elector.take().or_else(new_elector)?;
        let elector = self.elector.insert(elector);
        let found = H::read(&self.lease);
        let lease = found.record();
        let candidates = H::read(&self.full_candidates);
        let full_candidates = candidates.record();
        if let Some(renewed) = elector.renew_full_candidates(lease.as_ref(), full_candidates.as_ref(), state) {
            // If that fails, another VM has renewed it.
            let _ = H::compare_and_set(&self.full_candidates, &renewed.to_bytes(), candidates.cas);
        }
        match elector.observe(lease.as_ref(), full_candidates.as_ref(), self.expiry_ticks, state) {
            Decision::Hold(lease) => self.write(lease, &found).ok(),
            Decision::Succeed(lease) => {
                let lease = self.write(lease, &found).ok()?;
                quarantine.suspect_last_leader(now);
                Some(lease)
            }
            Decision::Release(lease) => {
                let _ = self.write(lease, &found);
                None
            }
            Decision::Wait => None,
        }
    }

    fn write(&self, lease: Lease, found: &SharedValue) -> Result<Lease, CasConflict> {
        H::compare_and_set(&self.lease, &lease.to_bytes(), found.cas)?;
        Ok(lease)
    }

    /// Releases the lease if this candidate has it, so that another VM leads after its next tick.
    pub fn resign(&mut self) {
        let Some(elector) = &mut self.elector else { return };
        let found = H::read(&self.lease);
        let state = ElectorState {
            has_served: false,
            is_idle: true,
            is_eligible: false,
        };
        if let Decision::Release(lease) = elector.observe(found.record().as_ref(), None, self.expiry_ticks, state) {
            let _ = self.write(lease, &found);
        }
    }
}
