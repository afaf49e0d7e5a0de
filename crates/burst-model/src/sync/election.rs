//! Elects one VM of the proxy, which reads the cluster. Each thread of Envoy, also the main thread, runs the filter in a VM
//! of its own. The VMs share a map of bytes with compare-and-swap and nothing else. The lease is one record in it.
//!
//! A VM claims the lease in a tick, and renews it in each tick by raising [`Lease::renewals`]. It loses the lease when that
//! number stays the same for [`EXPIRY_TICKS`] of an observer's own ticks, so no clocks are compared. Between rounds a
//! holder that has served requests gives way to a VM that has not. So the lease ends up in the main thread.
//!
//! A proxy may run both modules of the filter. Only the full one reads by streams, so a holder that runs the header-only
//! module gives way to a VM that runs the full one. And a VM that runs the header-only module does not take the lease while
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
    lease: UnchangedTicks<(VmId, u64)>,
    full_candidates: UnchangedTicks<u64>,
}

impl Elector {
    /// The elector of that VM, which runs that module.
    #[must_use]
    pub fn new(id: VmId, module: Artifact) -> Self {
        Self {
            id,
            module,
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
        let own = preference(self.module, state.has_served);
        let gives_way = lease.is_idle && own > preference(lease.module, lease.has_served);
        gives_way || unchanged_ticks >= expiry_ticks
    }
}

/// The better a VM suits as the leader, the larger this is. A thread that serves requests should do nothing else.
fn preference(module: Artifact, has_served: bool) -> (bool, bool) {
    (module == Artifact::Full, !has_served)
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
        full: Option<FullCandidates>,
        cas: u32,
    }

    impl Shared {
        /// One tick of an elector. Returns whether it holds the lease afterwards.
        fn tick(&mut self, candidate: &mut Elector, state: ElectorState) -> bool {
            let (lease, cas) = (self.lease.clone(), self.cas);
            let renewed = candidate.renew_full_candidates(lease.as_ref(), self.full.as_ref(), state);
            self.full = renewed.or_else(|| self.full.take());
            self.write(
                candidate.observe(lease.as_ref(), self.full.as_ref(), EXPIRY_TICKS, state),
                cas,
            )
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

    fn elector(id: u32, module: Artifact) -> Elector {
        Elector::new(VmId(id), module)
    }

    /// One with the full module and one with the header-only module.
    fn one_of_each() -> (Shared, Elector, Elector) {
        let (full, header_only) = (elector(1, Artifact::Full), elector(2, Artifact::HeaderOnly));
        (Shared::default(), full, header_only)
    }

    fn candidates() -> (Shared, Elector, Elector) {
        (
            Shared::default(),
            elector(1, Artifact::Full),
            elector(2, Artifact::Full),
        )
    }

    /// A lease that another VM holds.
    fn of_another() -> Lease {
        Lease {
            holder: Some(VmId(1)),
            renewals: 9,
            has_served: false,
            is_idle: true,
            module: Artifact::Full,
        }
    }

    #[test]
    fn of_two_racing_first_claims_one_wins() {
        let (mut shared, mut one, mut two) = candidates();
        let (a, b) = (
            one.observe(None, None, EXPIRY_TICKS, IDLE),
            two.observe(None, None, EXPIRY_TICKS, IDLE),
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
            let taken = elector(2, Artifact::Full).observe(Some(&lease), None, EXPIRY_TICKS, IDLE);
            assert!(matches!(taken, Decision::Hold(_)), "{taken:?}");
        }
        let mut two = elector(2, Artifact::Full);
        let mut looks = std::iter::repeat_with(|| two.observe(Some(&of_another()), None, EXPIRY_TICKS, IDLE));
        let taken = looks.find(|taken| *taken != Decision::Wait);
        assert!(matches!(taken, Some(Decision::Succeed(_))), "{taken:?}");
    }

    #[test]
    fn after_several_leaders_died_the_next_one_waits_longer() {
        let mut two = elector(2, Artifact::Full);
        let expiry_ticks = expiry_ticks_after(Duration::from_secs(60));
        let waits = (0..).find(|_| two.observe(Some(&of_another()), None, expiry_ticks, IDLE) != Decision::Wait);
        assert_eq!(waits, Some(EXPIRY_TICKS + 60));
    }

    #[test]
    fn the_header_only_module_gives_way_to_the_full_one_even_if_that_serves_requests() {
        let (mut shared, mut full, mut header_only) = one_of_each();
        assert!(shared.tick(&mut header_only, IDLE), "no full module is known");
        let reading = ElectorState { is_idle: false, ..IDLE };
        assert!(shared.tick(&mut header_only, reading));
        assert!(!shared.tick(&mut full, SERVED), "not in the middle of a round");
        assert!(shared.tick(&mut header_only, IDLE));
        for _ in 0..50 {
            assert!(shared.tick(&mut full, SERVED));
            assert!(!shared.tick(&mut header_only, IDLE));
        }
    }

    #[test]
    fn the_header_only_module_leaves_a_free_lease_to_a_full_one_that_is_alive() {
        let (mut shared, mut leader, mut header_only) = one_of_each();
        let mut other = elector(3, Artifact::Full);
        for _ in 0..10 {
            assert!(shared.tick(&mut leader, IDLE));
            assert!(!shared.tick(&mut other, IDLE) && !shared.tick(&mut header_only, IDLE));
        }
        // The leader crashes, and the header-only module always ticks first.
        let mut ticks = 0..20;
        let taken = ticks.find(|_| {
            assert!(!shared.tick(&mut header_only, IDLE));
            shared.tick(&mut other, IDLE)
        });
        assert_eq!(taken, Some(EXPIRY_TICKS as i32 - 1));
    }

    #[test]
    fn the_header_only_module_leads_when_no_full_one_is_alive_any_more() {
        let gone = ElectorState {
            is_eligible: false,
            ..IDLE
        };
        let (mut shared, mut leader, mut header_only) = one_of_each();
        let mut other = elector(3, Artifact::Full);
        for _ in 0..3 {
            assert!(shared.tick(&mut leader, IDLE));
            assert!(!shared.tick(&mut other, IDLE) && !shared.tick(&mut header_only, IDLE));
        }
        for drained in [&mut leader, &mut other] {
            assert!(!shared.tick(drained, gone));
        }
        let taken = (1..).find(|_| shared.tick(&mut header_only, IDLE)).unwrap();
        assert_eq!(taken, EXPIRY_TICKS);
        // A header-only module that starts later does not know when the last renewal was.
        shared.lease = None;
        let mut late = elector(4, Artifact::HeaderOnly);
        let taken = (0..).find(|_| shared.tick(&mut late, IDLE)).unwrap();
        assert_eq!(taken, EXPIRY_TICKS);
    }

    #[test]
    fn of_the_full_candidates_one_renews_the_record_in_each_tick() {
        let mut shared = Shared::default();
        let mut leader = elector(0, Artifact::Full);
        let mut others: Vec<_> = (1..9).map(|id| elector(id, Artifact::Full)).collect();
        for tick in 0..20 {
            assert!(shared.tick(&mut leader, IDLE));
            for other in &mut others {
                assert!(!shared.tick(other, IDLE));
            }
            let renewals = shared.full.as_ref().unwrap().renewals;
            assert!(
                (tick + 1..=tick + 9).contains(&renewals),
                "{renewals} after {tick} ticks"
            );
        }
    }
}
