//! One poller per proxy. Each thread of Envoy runs the filter in a VM of its own, the main thread too; they share a
//! map of bytes with compare-and-swap and nothing else. The lease is one record in it.
//!
//! It is claimed in a tick, renewed each tick by raising its beat, and lost when the beat stands still for
//! [`PATIENCE`] of the observer's own ticks: nobody compares clocks. Between rounds a holder that has served requests
//! gives way to a thread that has not, which ends at the main thread (design, decision 2).

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Ticks without a beat after which the holder counts as gone. A tick is a second, and a holder may be busy for some
/// of them with a large answer.
pub const PATIENCE: u32 = 5;

/// How many ticks without a beat an observer waits for before it takes over, where leaders should not follow each other for
/// `pause`.
#[must_use]
pub fn patience(pause: Duration) -> u32 {
    PATIENCE.saturating_add(u32::try_from(pause.as_secs()).unwrap_or(u32::MAX))
}

/// A root context, by a number that was given out once per proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Id(pub u32);

/// The record in shared data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Who polls; `None` once it was handed back.
    pub holder: Option<Id>,
    /// Rises with each renewal.
    pub beat: u64,
    /// Whether the holder's VM has served requests.
    pub served: bool,
    /// Whether the holder has nothing under way.
    pub between_rounds: bool,
}

/// How a root context stands when it looks at the lease.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// Whether its VM has served requests.
    pub served: bool,
    /// Whether it has nothing under way.
    pub between_rounds: bool,
    /// Whether it should poll at all: not where the configuration says reader, nor in its drain.
    pub eligible: bool,
}

/// What a look at the lease leads to.
#[derive(Debug, PartialEq, Eq)]
pub enum Move {
    /// Write this to become the holder, or to stay it. Only with the CAS number of the look: if that fails somebody
    /// else was faster.
    Hold(Lease),
    /// The same, in place of a holder that is gone, or stands still: it may have died of what it was doing.
    Succeed(Lease),
    /// Write this to hand the lease back.
    Release(Lease),
    /// Somebody else polls.
    Follow,
}

/// A root context that may come to poll.
#[derive(Debug)]
pub struct Candidate {
    id: Id,
    /// The beat that was seen last, and for how many looks it has stood.
    seen: Option<(Id, u64)>,
    stood: u32,
}

impl Candidate {
    /// A candidate of that number.
    #[must_use]
    pub fn new(id: Id) -> Self {
        Self {
            id,
            seen: None,
            stood: 0,
        }
    }

    /// Whether the lease is this candidate's.
    #[must_use]
    pub fn holds(&self, lease: Option<&Lease>) -> bool {
        lease.and_then(|lease| lease.holder) == Some(self.id)
    }

    /// Looks at the lease, once a tick. A holder is gone after so many ticks without a beat, see [`patience`].
    pub fn look(&mut self, lease: Option<&Lease>, patience: u32, standing: Standing) -> Move {
        let holds = self.holds(lease);
        match lease {
            _ if !standing.eligible && !holds => Move::Follow,
            Some(lease) if holds && !standing.eligible => Move::Release(self.released(lease)),
            Some(lease) if holds => Move::Hold(self.claim(lease, standing)),
            Some(lease) if !self.may_take(lease, patience, standing) => Move::Follow,
            // A holder that gives way may be parsing just now; it has not died of that.
            Some(lease) if lease.holder.is_some() && self.stood >= patience => {
                Move::Succeed(self.claim(lease, standing))
            }
            Some(lease) => Move::Hold(self.claim(lease, standing)),
            None => {
                let first = Lease {
                    holder: None,
                    beat: 0,
                    served: false,
                    between_rounds: true,
                };
                Move::Hold(self.claim(&first, standing))
            }
        }
    }

    fn claim(
        &self,
        lease: &Lease,
        Standing {
            served, between_rounds, ..
        }: Standing,
    ) -> Lease {
        Lease {
            holder: Some(self.id),
            beat: lease.beat.wrapping_add(1),
            served,
            between_rounds,
        }
    }

    fn released(&self, lease: &Lease) -> Lease {
        Lease {
            holder: None,
            beat: lease.beat.wrapping_add(1),
            ..lease.clone()
        }
    }

    /// Whether the holder is gone, or should give way.
    fn may_take(&mut self, lease: &Lease, patience: u32, standing: Standing) -> bool {
        let Some(holder) = lease.holder else { return true };
        let beat = Some((holder, lease.beat));
        self.stood = if self.seen == beat {
            self.stood.saturating_add(1)
        } else {
            0
        };
        self.seen = beat;
        let gives_way = lease.served && !standing.served && lease.between_rounds;
        gives_way || self.stood >= patience
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Standing = Standing {
        served: false,
        between_rounds: true,
        eligible: true,
    };
    const SERVED: Standing = Standing { served: true, ..IDLE };

    /// Shared data with one record, as Envoy keeps it: every write gets a new CAS number.
    #[derive(Default)]
    struct Shared {
        lease: Option<Lease>,
        cas: u32,
    }

    impl Shared {
        /// One tick of a candidate; whether it holds the lease afterwards.
        fn tick(&mut self, candidate: &mut Candidate, standing: Standing) -> bool {
            let (lease, cas) = (self.lease.clone(), self.cas);
            self.write(candidate.look(lease.as_ref(), PATIENCE, standing), cas)
        }

        fn write(&mut self, step: Move, cas: u32) -> bool {
            let (lease, held) = match step {
                Move::Hold(lease) | Move::Succeed(lease) => (lease, true),
                Move::Release(lease) => (lease, false),
                Move::Follow => return false,
            };
            let fresh = self.cas == cas;
            if fresh {
                (self.lease, self.cas) = (Some(lease), cas + 1);
            }
            fresh && held
        }
    }

    fn candidates() -> (Shared, Candidate, Candidate) {
        (Shared::default(), Candidate::new(Id(1)), Candidate::new(Id(2)))
    }

    /// A lease that is held, and not by who looks at it.
    fn of_another() -> Lease {
        Lease {
            holder: Some(Id(1)),
            beat: 9,
            served: false,
            between_rounds: true,
        }
    }

    #[test]
    fn of_two_racing_first_claims_one_wins() {
        let (mut shared, mut one, mut two) = candidates();
        let (a, b) = (one.look(None, PATIENCE, IDLE), two.look(None, PATIENCE, IDLE));
        assert!(shared.write(a, 0));
        assert!(!shared.write(b, 0));
    }

    #[test]
    fn a_silent_holder_is_replaced_after_the_observers_own_ticks() {
        let (mut shared, mut one, mut two) = candidates();
        assert!(shared.tick(&mut one, IDLE));
        let taken = (1..).find(|_| shared.tick(&mut two, IDLE)).unwrap();
        assert_eq!(taken, PATIENCE + 1, "the first look only learns the beat");
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
            Standing {
                between_rounds: false,
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
        let draining = Standing {
            eligible: false,
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
            served: true,
            ..of_another()
        };
        let back = Lease {
            holder: None,
            ..of_another()
        };
        for lease in [gives_way, back] {
            let taken = Candidate::new(Id(2)).look(Some(&lease), PATIENCE, IDLE);
            assert!(matches!(taken, Move::Hold(_)), "{taken:?}");
        }
        let mut two = Candidate::new(Id(2));
        let mut looks = std::iter::repeat_with(|| two.look(Some(&of_another()), PATIENCE, IDLE));
        let taken = looks.find(|taken| *taken != Move::Follow);
        assert!(matches!(taken, Some(Move::Succeed(_))), "{taken:?}");
    }

    #[test]
    fn where_leaders_die_one_after_the_other_the_next_one_waits_longer() {
        let mut two = Candidate::new(Id(2));
        let patience = patience(Duration::from_secs(60));
        let waits = (0..).find(|_| two.look(Some(&of_another()), patience, IDLE) != Move::Follow);
        assert_eq!(waits, Some(PATIENCE + 60));
    }
}
