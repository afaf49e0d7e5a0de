//! Elects one VM of the proxy, which reads the cluster. Each thread of Envoy, also the main thread, runs the filter in a VM
//! of its own. The VMs share a map of bytes with compare-and-swap and nothing else. The lease is one record in it.
//!
//! A VM claims the lease in a tick, and renews it in each tick by raising [`Lease::renewals`]. It loses the lease when that
//! number stays the same for [`EXPIRY_TICKS`] of an observer's own ticks, so no clocks are compared. Between rounds a
//! holder that has served requests gives way to a VM that has not. So the lease ends up in the main thread.

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

/// Observes the lease on behalf of one VM.
#[derive(Debug)]
pub struct Elector {
    id: VmId,
    /// The holder and the renewals that were observed last.
    last_renewal: Option<(VmId, u64)>,
    /// For how many ticks they have been the same.
    unchanged_ticks: u32,
}

impl Elector {
    /// The elector of that VM.
    #[must_use]
    pub fn new(id: VmId) -> Self {
        Self {
            id,
            last_renewal: None,
            unchanged_ticks: 0,
        }
    }

    /// Returns whether this VM holds the lease.
    #[must_use]
    pub fn holds(&self, lease: Option<&Lease>) -> bool {
        lease.and_then(|lease| lease.holder) == Some(self.id)
    }

    /// Observes the lease, once in each tick. It expires after `expiry_ticks` without a renewal, see [`expiry_ticks_after`].
    pub fn observe(&mut self, lease: Option<&Lease>, expiry_ticks: u32, state: ElectorState) -> Decision {
        let holds = self.holds(lease);
        match lease {
            _ if !state.is_eligible && !holds => Decision::Wait,
            Some(lease) if holds && !state.is_eligible => Decision::Release(self.released(lease)),
            Some(lease) if holds => Decision::Hold(self.claim(lease, state)),
            Some(lease) if !self.may_take(lease, expiry_ticks, state) => Decision::Wait,
            // A holder that gives way may be parsing right now. It has not crashed.
            Some(lease) if lease.holder.is_some() && self.unchanged_ticks >= expiry_ticks => {
                Decision::Succeed(self.claim(lease, state))
            }
            Some(lease) => Decision::Hold(self.claim(lease, state)),
            None => {
                let first = Lease {
                    holder: None,
                    renewals: 0,
                    has_served: false,
                    is_idle: true,
                };
                Decision::Hold(self.claim(&first, state))
            }
        }
    }

    fn claim(
        &self,
        lease: &Lease,
        ElectorState {
            has_served: served,
            is_idle: between_rounds,
            ..
        }: ElectorState,
    ) -> Lease {
        Lease {
            holder: Some(self.id),
            renewals: lease.renewals.wrapping_add(1),
            has_served: served,
            is_idle: between_rounds,
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
        let renewal = Some((holder, lease.renewals));
        self.unchanged_ticks = if self.last_renewal == renewal {
            self.unchanged_ticks.saturating_add(1)
        } else {
            0
        };
        self.last_renewal = renewal;
        let gives_way = lease.has_served && !state.has_served && lease.is_idle;
        gives_way || self.unchanged_ticks >= expiry_ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: ElectorState = ElectorState {
        has_served: false,
        is_idle: true,
        is_eligible: true,
    };
    const SERVED: ElectorState = ElectorState {
        has_served: true,
        ..IDLE
    };

    /// Shared data with one record, as Envoy keeps it: every write gets a new CAS number.
    #[derive(Default)]
    struct Shared {
        lease: Option<Lease>,
        cas: u32,
    }

    impl Shared {
        /// One tick of an elector. Returns whether it holds the lease afterwards.
        fn tick(&mut self, candidate: &mut Elector, state: ElectorState) -> bool {
            let (lease, cas) = (self.lease.clone(), self.cas);
            self.write(candidate.observe(lease.as_ref(), EXPIRY_TICKS, state), cas)
        }

        fn write(&mut self, step: Decision, cas: u32) -> bool {
            let (lease, held) = match step {
                Decision::Hold(lease) | Decision::Succeed(lease) => (lease, true),
                Decision::Release(lease) => (lease, false),
                Decision::Wait => return false,
            };
            let fresh = self.cas == cas;
            if fresh {
                (self.lease, self.cas) = (Some(lease), cas + 1);
            }
            fresh && held
        }
    }

    fn candidates() -> (Shared, Elector, Elector) {
        (Shared::default(), Elector::new(VmId(1)), Elector::new(VmId(2)))
    }

    /// A lease that another VM holds.
    fn of_another() -> Lease {
        Lease {
            holder: Some(VmId(1)),
            renewals: 9,
            has_served: false,
            is_idle: true,
        }
    }

    #[test]
    fn of_two_racing_first_claims_one_wins() {
        let (mut shared, mut one, mut two) = candidates();
        let (a, b) = (
            one.observe(None, EXPIRY_TICKS, IDLE),
            two.observe(None, EXPIRY_TICKS, IDLE),
        );
        assert!(shared.write(a, 0));
        assert!(!shared.write(b, 0));
    }

    #[test]
    fn a_silent_holder_is_replaced_after_the_observers_own_ticks() {
        let (mut shared, mut one, mut two) = candidates();
        assert!(shared.tick(&mut one, IDLE));
        let taken = (1..).find(|_| shared.tick(&mut two, IDLE)).unwrap();
        assert_eq!(taken, EXPIRY_TICKS + 1, "the first tick only learns the renewals");
        assert!(!shared.tick(&mut one, IDLE), "the old holder finds itself deposed");
    }

    #[test]
    fn a_holder_that_renews_keeps_the_lease() {
        let (mut shared, mut one, mut two) = candidates();
        for _ in 0..50 {
            assert!(shared.tick(&mut one, IDLE));
            assert!(!shared.tick(&mut two, IDLE));
        }
    }

    #[test]
    fn the_lease_moves_to_a_vm_that_serves_no_requests_and_stays_there() {
        let (mut shared, mut worker, mut main) = candidates();
        assert!(shared.tick(&mut worker, IDLE));
        assert!(!shared.tick(&mut main, IDLE));
        assert!(shared.tick(
            &mut worker,
            ElectorState {
                is_idle: false,
                ..SERVED
            }
        ));
        assert!(!shared.tick(&mut main, IDLE), "not in the middle of a round");
        assert!(shared.tick(&mut worker, SERVED));
        assert!(shared.tick(&mut main, IDLE));
        for _ in 0..50 {
            assert!(!shared.tick(&mut worker, SERVED));
            assert!(shared.tick(&mut main, IDLE));
        }
    }

    #[test]
    fn two_vms_that_both_serve_do_not_take_the_lease_from_each_other() {
        let (mut shared, mut one, mut two) = candidates();
        for _ in 0..50 {
            assert!(shared.tick(&mut one, SERVED));
            assert!(!shared.tick(&mut two, SERVED));
        }
    }

    #[test]
    fn a_drained_vm_releases_the_lease_and_never_claims_it() {
        let (mut shared, mut old, mut new) = candidates();
        let draining = ElectorState {
            is_eligible: false,
            ..IDLE
        };
        assert!(shared.tick(&mut old, IDLE));
        assert!(!shared.tick(&mut old, draining));
        assert!(!shared.tick(&mut old, draining));
        assert!(shared.tick(&mut new, IDLE), "it does not wait for the lease to expire");
    }

    #[test]
    fn only_an_expired_lease_is_succeeded_not_one_that_is_released_or_given_way() {
        // The response of an open watch is parsed between rounds.
        let gives_way = Lease {
            has_served: true,
            ..of_another()
        };
        let returned = Lease {
            holder: None,
            ..of_another()
        };
        for lease in [gives_way, returned] {
            let taken = Elector::new(VmId(2)).observe(Some(&lease), EXPIRY_TICKS, IDLE);
            assert!(matches!(taken, Decision::Hold(_)), "{taken:?}");
        }
        let mut two = Elector::new(VmId(2));
        let mut looks = std::iter::repeat_with(|| two.observe(Some(&of_another()), EXPIRY_TICKS, IDLE));
        let taken = looks.find(|taken| *taken != Decision::Wait);
        assert!(matches!(taken, Some(Decision::Succeed(_))), "{taken:?}");
    }

    #[test]
    fn after_several_leaders_died_the_next_one_waits_longer() {
        let mut two = Elector::new(VmId(2));
        let expiry_ticks = expiry_ticks_after(Duration::from_secs(60));
        let waits = (0..).find(|_| two.observe(Some(&of_another()), expiry_ticks, IDLE) != Decision::Wait);
        assert_eq!(waits, Some(EXPIRY_TICKS + 60));
    }
}
