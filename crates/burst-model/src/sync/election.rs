//! Elects one VM of the proxy, which reads the cluster. Each thread of Envoy, also the main thread, runs the filter in a VM
//! of its own. The VMs share a map of bytes with compare-and-swap and nothing else. The lease is one record in it.
//!
//! A VM claims the lease in a tick, and renews it in each tick by raising [`Lease::renewals`]. It loses the lease when that
//! number stays the same for [`EXPIRY_TICKS`] of an observer's own ticks, so no clocks are compared. Between rounds a
//! holder that has served requests gives way to a VM that has not. So the lease ends up in the main thread.
//!
//! A proxy may run both modules of the filter. Only the full one reads by streams, so a holder that runs the header-only
//! module gives way to a VM that runs the full one. Before that, a holder whose snapshot has no labels gives way to a VM that
//! keeps them for its metrics APIs, because a snapshot with labels serves both. And a VM that runs the header-only module does not take the lease while
//! VMs with the full module renew [`FullCandidates`].

use crate::config::Artifact;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Ticks without a renewal after which the lease expires. A tick is a second, and a large response may keep the holder busy
/// for some of them.
pub const EXPIRY_TICKS: u32 = 5;

/// Ticks without a renewal after which the lease expires, if the next leader should wait for `pause` in addition.
#[must_use]
pub fn expiry_ticks_after(pause: Duration) -> u32 {
    EXPIRY_TICKS.saturating_add(u32::try_from(pause.as_secs()).unwrap_or(u32::MAX))
}

/// A VM, by a number that is unique in its proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct VmId(pub u32);

/// The lease, a record in shared data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The leader; `None` after it released the lease.
    pub holder: Option<VmId>,
    /// Counts the renewals.
    pub renewals: u64,
    /// The holder has served requests.
    pub has_served: bool,
    /// The holder has nothing under way.
    pub is_idle: bool,
    /// The module that the holder runs.
    pub module: Artifact,
    /// The snapshot of the holder has the labels of the objects.
    pub keeps_labels: bool,
}

/// A record in shared data which shows that a VM with the full module is alive and may lead.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FullCandidates {
    /// Counts the renewals. One of these VMs renews the record in each tick.
    pub renewals: u64,
}

/// The state of a VM that observes the lease.
#[derive(Clone, Copy, Debug)]
pub struct ElectorState {
    /// It has served requests.
    pub has_served: bool,
    /// It has nothing under way.
    pub is_idle: bool,
    /// It may lead. A VM may not if its configuration makes it a reader, or while it is drained.
    pub is_eligible: bool,
}

/// The decision of a VM after it observed the lease.
#[derive(Debug, PartialEq, Eq)]
pub enum Decision {
    /// Write this lease to hold it, with the CAS number that was read with the observed lease. If that fails, another VM
    /// was faster.
    Hold(Lease),
    /// The same, for an expired lease. Its holder may have crashed on an object that it parsed.
    Succeed(Lease),
    /// Write this lease to release it.
    Release(Lease),
    /// Another VM leads.
    Wait,
}

/// Counts for how many ticks a value stays the same.
#[derive(Debug)]
struct UnchangedTicks<T> {
    last: Option<T>,
    ticks: u32,
}

impl<T> Default for UnchangedTicks<T> {
    fn default() -> Self {
        Self { last: None, ticks: 0 }
    }
}

impl<T: PartialEq> UnchangedTicks<T> {
    /// Notes the value in this tick. Returns for how many ticks it has been the same.
    fn observe(&mut self, value: T) -> u32 {
        let value = Some(value);
        self.ticks = match self.last == value {
            true => self.ticks.saturating_add(1),
            false => 0,
        };
        self.last = value;
        self.ticks
    }
}

/// Observes the lease on behalf of one VM.
#[derive(Debug)]
pub struct Elector {
    id: VmId,
    module: Artifact,
    keeps_labels: bool,
    lease: UnchangedTicks<(VmId, u64)>,
    full_candidates: UnchangedTicks<u64>,
}

impl Elector {
    /// The elector of that VM, which runs that module.
    #[must_use]
    pub fn new(id: VmId, module: Artifact, keeps_labels: bool) -> Self {
        Self {
            id,
            module,
            keeps_labels,
            lease: UnchangedTicks::default(),
            full_candidates: UnchangedTicks::default(),
        }
    }

    /// Returns whether this VM holds the lease.
    #[must_use]
    pub fn holds(&self, lease: Option<&Lease>) -> bool {
        lease.and_then(|lease| lease.holder) == Some(self.id)
    }

    /// Returns the record to write, once in each tick, if this VM runs the full module and may lead. `None` if another one
    /// has renewed the record since the last tick. A leader is known by its lease.
    pub fn renew_full_candidates(
        &mut self,
        lease: Option<&Lease>,
        found: Option<&FullCandidates>,
        state: ElectorState,
    ) -> Option<FullCandidates> {
        if self.module != Artifact::Full || !state.is_eligible || self.holds(lease) {
            return None;
        }
        let found = found.map_or(0, |found| found.renewals);
        let is_renewed = self.full_candidates.last.is_some_and(|last| last != found);
        let renewals = if is_renewed { found } else { found.wrapping_add(1) };
        self.full_candidates.observe(renewals);
        (!is_renewed).then_some(FullCandidates { renewals })
    }

    /// Returns whether this VM leaves the lease to one with the full module.
    fn defers(&mut self, found: Option<&FullCandidates>) -> bool {
        self.module == Artifact::HeaderOnly
            && found.is_some_and(|found| self.full_candidates.observe(found.renewals) < EXPIRY_TICKS)
    }

    /// Observes the lease, once in each tick. It expires after `expiry_ticks` without a renewal, see [`expiry_ticks_after`].
    pub fn observe(
        &mut self,
        lease: Option<&Lease>,
        full_candidates: Option<&FullCandidates>,
        expiry_ticks: u32,
        state: ElectorState,
    ) -> Decision {
        let holds = self.holds(lease);
        let defers = self.defers(full_candidates);
        match lease {
            _ if !state.is_eligible && !holds => Decision::Wait,
            Some(lease) if holds && !state.is_eligible => Decision::Release(self.released(lease)),
            Some(lease) if holds => Decision::Hold(self.claim(lease, state)),
            Some(lease) if !self.may_take(lease, expiry_ticks, state) => Decision::Wait,
            _ if defers => Decision::Wait,
            // A holder that gives way may be parsing right now. It has not crashed.
            Some(lease) if lease.holder.is_some() && self.lease.ticks >= expiry_ticks => {
                Decision::Succeed(self.claim(lease, state))
            }
            Some(lease) => Decision::Hold(self.claim(lease, state)),
            None => {
                let first = Lease {
                    holder: None,
                    renewals: 0,
                    has_served: false,
                    is_idle: true,
                    module: self.module,
                    keeps_labels: self.keeps_labels,
                };
                Decision::Hold(self.claim(&first, state))
            }
        }
    }

    fn claim(&self, lease: &Lease, state: ElectorState) -> Lease {
        Lease {
            holder: Some(self.id),
            renewals: lease.renewals.wrapping_add(1),
            has_served: state.has_served,
            is_idle: state.is_idle,
            module: self.module,
            keeps_labels: self.keeps_labels,
        }
    }

    fn released(&self, lease: &Lease) -> Lease {
        Lease {
            holder: None,
            renewals: lease.renewals.wrapping_add(1),
            ..lease.clone()
        }
    }

    /// Returns whether the lease expired, or its holder gives way.
    fn may_take(&mut self, lease: &Lease, expiry_ticks: u32, state: ElectorState) -> bool {
        let Some(holder) = lease.holder else { return true };
        let unchanged_ticks = self.lease.observe((holder, lease.renewals));
        let own = preference(self.keeps_labels, self.module, state.has_served);
        let gives_way = lease.is_idle && own > preference(lease.keeps_labels, lease.module, lease.has_served);
        gives_way || unchanged_ticks >= expiry_ticks
    }
}

/// The better a VM suits as the leader, the larger this is. A thread that serves requests should do nothing else.
fn preference(keeps_labels: bool, module: Artifact, has_served: bool) -> (bool, bool, bool) {
    (keeps_labels, module == Artifact::Full, !has_served)
}

#[cfg(test)]
mod tests;
