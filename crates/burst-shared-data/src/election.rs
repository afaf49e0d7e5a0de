//! The election in shared data: observes the lease, and takes, renews or releases it.

use crate::ids::new_vm_id;
use crate::quarantine::Quarantine;
use crate::shared_data::{CasConflict, SharedData, SharedValue};
use burst_model::records::Record;
use burst_model::sync::election::{Decision, EXPIRY_TICKS, Elector, ElectorState, Lease, expiry_ticks_after};
use burst_model::time::Time;
use std::marker::PhantomData;
use std::time::Duration;

/// A candidate in the election of a proxy's leader.
#[derive(Debug)]
pub struct Election<H> {
    /// The key of the lease.
    lease: String,
    /// Made in the first tick. Envoy tries a configuration in a canary VM, which never ticks and must write nothing.
    elector: Option<Elector>,
    /// A leader is gone if its lease was not renewed for so many ticks.
    expiry_ticks: u32,
    host: PhantomData<H>,
}

impl<H: SharedData> Election<H> {
    /// A candidate for the lease under that key.
    #[must_use]
    pub fn new(lease: &str) -> Self {
        Self {
            lease: lease.into(),
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
        let elector = self.elector.take().or_else(|| new_vm_id::<H>().map(Elector::new))?;
        let elector = self.elector.insert(elector);
        let found = H::read(&self.lease);
        match elector.observe(found.record().as_ref(), self.expiry_ticks, state) {
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
        if let Decision::Release(lease) = elector.observe(found.record().as_ref(), self.expiry_ticks, state) {
            let _ = self.write(lease, &found);
        }
    }
}
