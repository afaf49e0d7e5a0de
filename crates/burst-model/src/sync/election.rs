//! One poller per proxy. Each thread of Envoy runs the filter in a VM of its own, the main thread too; they share a
//! map of bytes with compare-and-swap and nothing else. The lease is one record in it.
//!
//! It is claimed in a tick, renewed each tick by raising its beat, and lost when the beat stands still for
//! [`EXPIRY_TICKS`] of the observer's own ticks: nobody compares clocks. Between rounds a holder that has served requests
//! gives way to a thread that has not, which ends at the main thread (design, decision 2).

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Ticks without a beat after which the holder counts as gone. A tick is a second, and a holder may be busy for some
/// of them with a large answer.
pub const EXPIRY_TICKS: u32 = 5;

/// How many ticks without a beat an observer waits for before it takes over, where leaders should not follow each other for
/// `pause`.
#[must_use]
pub fn expiry_ticks_after(pause: Duration) -> u32 {
    EXPIRY_TICKS.saturating_add(u32::try_from(pause.as_secs()).unwrap_or(u32::MAX))
}

/// A root context, by a number that was given out once per proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct VmId(pub u32);

/// The record in shared data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Who polls; `None` once it was handed back.
    pub holder: Option<VmId>,
    /// Rises with each renewal.
    pub renewals: u64,
    /// Whether the holder's VM has served requests.
    pub has_served: bool,
    /// Whether the holder has nothing under way.
    pub is_idle: bool,
}

/// How a root context stands when it looks at the lease.
#[derive(Clone, Copy, Debug)]
pub struct ElectorState {
    /// Whether its VM has served requests.
    pub has_served: bool,
    /// Whether it has nothing under way.
    pub is_idle: bool,
    /// Whether it should poll at all: not where the configuration says reader, nor in its drain.
    pub is_eligible: bool,
}

/// What a look at the lease leads to.
#[derive(Debug, PartialEq, Eq)]
pub enum Decision {
    /// Write this to become the holder, or to stay it. Only with the CAS number of the look: if that fails somebody
    /// else was faster.
    Hold(Lease),
    /// The same, in place of a holder that is gone, or stands still: it may have died of what it was doing.
    Succeed(Lease),
    /// Write this to hand the lease back.
    Release(Lease),
    /// Somebody else polls.
    Wait,
}

/// A root context that may come to poll.
#[derive(Debug)]
pub struct Elector {
    id: VmId,
    /// The beat that was seen last, and for how many looks it has stood.
    last_renewal: Option<(VmId, u64)>,
    unchanged_ticks: u32,
}

impl Elector {
    /// A candidate of that number.
    #[must_use]
    pub fn new(id: VmId) -> Self {
        Self {
            id,
            last_renewal: None,
            unchanged_ticks: 0,
        }
    }

    /// Whether the lease is this candidate's.
    #[must_use]
    pub fn holds(&self, lease: Option<&Lease>) -> bool {
        lease.and_then(|lease| lease.holder) == Some(self.id)
    }

    /// Looks at the lease, once a tick. A holder is gone after so many ticks without a beat, see [`expiry_ticks_after`].
    pub fn observe(&mut self, lease: Option<&Lease>, expiry_ticks: u32, state: ElectorState) -> Decision {
        let holds = self.holds(lease);
        match lease {
            _ if !state.is_eligible && !holds => Decision::Wait,
            Some(lease) if holds && !state.is_eligible => Decision::Release(self.released(lease)),
            Some(lease) if holds => Decision::Hold(self.claim(lease, state)),
            Some(lease) if !self.may_take(lease, expiry_ticks, state) => Decision::Wait,
            // A holder that gives way may be parsing just now; it has not died of that.
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

    /// Whether the holder is gone, or should give way.
    fn may_take(&mut self, lease: &Lease, expiry_ticks: u32, state: ElectorState) -> bool {
        let Some(holder) = lease.holder else { return true };
        let beat = Some((holder, lease.renewals));
        self.unchanged_ticks = if self.last_renewal == beat {
            self.unchanged_ticks.saturating_add(1)
        } else {
            0
        };
        self.last_renewal = beat;
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
        /// One tick of a candidate; whether it holds the lease afterwards.
        fn tick(&mut self, candidate: &mut Elector, standing: ElectorState) -> bool {
            let (lease, cas) = (self.lease.clone(), self.cas);
            self.write(candidate.observe(lease.as_ref(), EXPIRY_TICKS, standing), cas)
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

    /// A lease that is held, and not by who looks at it.
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
        assert_eq!(taken, EXPIRY_TICKS + 1, "the first look only learns the beat");
        assert!(!shared.tick(&mut one, IDLE), "the old holder finds itself deposed");
    }

    #[test]
    fn a_holder_that_beats_is_left_alone() {
        let (mut shared, mut one, mut two) = candidates();
        for _ in 0..50 {
            assert!(shared.tick(&mut one, IDLE));
            assert!(!shared.tick(&mut two, IDLE));
        }
    }

    #[test]
    fn the_lease_drifts_to_a_thread_that_serves_nobody_and_stays_there() {
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
    fn two_threads_that_both_serve_do_not_take_it_from_each_other() {
        let (mut shared, mut one, mut two) = candidates();
        for _ in 0..50 {
            assert!(shared.tick(&mut one, SERVED));
            assert!(!shared.tick(&mut two, SERVED));
        }
    }

    #[test]
    fn a_context_in_its_drain_hands_back_and_never_claims() {
        let (mut shared, mut old, mut new) = candidates();
        let draining = ElectorState {
            is_eligible: false,
            ..IDLE
        };
        assert!(shared.tick(&mut old, IDLE));
        assert!(!shared.tick(&mut old, draining));
        assert!(!shared.tick(&mut old, draining));
        assert!(
            shared.tick(&mut new, IDLE),
            "without waiting for the beat to stand still"
        );
    }

    #[test]
    fn a_holder_that_stands_still_is_succeeded_and_one_that_hands_back_or_gives_way_is_not() {
        // What an open window brings is parsed between rounds.
        let gives_way = Lease {
            has_served: true,
            ..of_another()
        };
        let back = Lease {
            holder: None,
            ..of_another()
        };
        for lease in [gives_way, back] {
            let taken = Elector::new(VmId(2)).observe(Some(&lease), EXPIRY_TICKS, IDLE);
            assert!(matches!(taken, Decision::Hold(_)), "{taken:?}");
        }
        let mut two = Elector::new(VmId(2));
        let mut looks = std::iter::repeat_with(|| two.observe(Some(&of_another()), EXPIRY_TICKS, IDLE));
        let taken = looks.find(|taken| *taken != Decision::Wait);
        assert!(matches!(taken, Some(Decision::Succeed(_))), "{taken:?}");
    }

    #[test]
    fn where_leaders_die_one_after_the_other_the_next_one_waits_longer() {
        let mut two = Elector::new(VmId(2));
        let expiry_ticks = expiry_ticks_after(Duration::from_secs(60));
        let waits = (0..).find(|_| two.observe(Some(&of_another()), expiry_ticks, IDLE) != Decision::Wait);
        assert_eq!(waits, Some(EXPIRY_TICKS + 60));
    }
}
